# The service in a container: docker build -t pappi .
# Its workspace is the volume /workspace; see docs/service.md.
#
# Every Python file that goes in, and the build backend, is checked against its hash in
# requirements/. Pin the base image by digest yourself, and update it for security fixes:
#   docker build --build-arg PYTHON_IMAGE=python:3.12-slim@sha256:… -t pappi .
ARG PYTHON_IMAGE=python:3.12-slim
FROM ${PYTHON_IMAGE} AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY requirements requirements
COPY tools/image.sh tools/image.sh
COPY src src
RUN tools/image.sh /pappi /tools

FROM ${PYTHON_IMAGE}
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin pappi \
 && install --directory --owner pappi --group pappi --mode 0700 /workspace
# Its bill of materials: /pappi/sbom.cdx.json
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
# Inside a container every address is the container's own; the published ports decide who
# can reach it. Never publish 8081 beyond the trusted side.
CMD ["serve", "--host", "0.0.0.0", "--owner-host", "0.0.0.0"]
