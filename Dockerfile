# The service in a container: docker build -t pappi .
# Its workspace is the volume /workspace; see docs/service.md.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /pappi \
 && /pappi/bin/pip install --no-cache-dir --constraint constraints.txt '.[service,postgres]'

FROM python:3.12-slim
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin pappi \
 && install --directory --owner pappi --group pappi --mode 0700 /workspace
COPY --from=build /pappi /pappi
ENV PATH=/pappi/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PAPPI_WORKSPACE=/workspace
USER pappi
VOLUME /workspace
EXPOSE 8080 8081
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/ready', timeout=4)"]
ENTRYPOINT ["pappi"]
# Inside a container every address is the container's own; what is published decides who
# reaches it. Never publish 8081 beyond the trusted side.
CMD ["serve", "--host", "0.0.0.0", "--owner-host", "0.0.0.0"]
