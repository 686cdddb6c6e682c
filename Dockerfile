# docker build --tag socialapi .                               the command line
# docker build --tag socialapi-emulator --target emulator .    the emulator, on port 8080
FROM python:3.13-bookworm AS build
COPY . /source
RUN pip wheel --no-cache-dir --constraint /source/constraints.txt --wheel-dir /wheels "/source[arrow,redis]"

FROM python:3.13-slim-bookworm AS base
RUN --mount=from=build,source=/wheels,target=/wheels pip install --no-cache-dir --no-index /wheels/*.whl
RUN install -d -o 10001 -g 10001 -m 0700 /state
ENV HOME=/state
USER 10001
WORKDIR /state
VOLUME /state
ENTRYPOINT ["socialapi"]

FROM base AS emulator
EXPOSE 8080
HEALTHCHECK --interval=10s --start-period=10s CMD ["python", "-c", "from urllib import request; request.build_opener(request.ProxyHandler({})).open('http://127.0.0.1:8080/_emulator/')"]
CMD ["emulator", "--host", "0.0.0.0"]

FROM base
