"""Where a snapshot is published: a folder, or a prefix of a bucket on an S3 server."""

import json
import os
from pathlib import Path
from urllib.parse import urlparse

from pyarrow import fs


class Place:
    """Reads objects by key, and holds what engines need to reach them. S3 uses path style and the keys of AWS_…."""

    def __init__(self, address: str, endpoint: str | None):
        self.endpoint = endpoint
        if endpoint is None:
            self.root = str(Path(address).resolve())
            self._files = fs.SubTreeFileSystem(self.root, fs.LocalFileSystem())
            return
        self.root = address.rstrip("/")
        self.region = os.environ.get("AWS_REGION", "us-east-1")
        self.key_id = os.environ["AWS_ACCESS_KEY_ID"]
        self.secret = os.environ["AWS_SECRET_ACCESS_KEY"]
        server = fs.S3FileSystem(
            access_key=self.key_id,
            secret_key=self.secret,
            region=self.region,
            endpoint_override=self.host,
            scheme=urlparse(endpoint).scheme,
        )
        self._files = fs.SubTreeFileSystem(self.bucket_and_prefix, server)

    @property
    def host(self) -> str:
        """The server with its port."""
        return urlparse(self.endpoint).netloc

    @property
    def is_plain_http(self) -> bool:
        return urlparse(self.endpoint).scheme == "http"

    @property
    def bucket_and_prefix(self) -> str:
        return self.root.removeprefix("s3://")

    def table(self, name: str) -> str:
        """The address of a table: a path, or s3://…."""
        return f"{self.root}/tables/{name}"

    def current(self, name: str) -> str:
        """The folder of a table's plain files."""
        return f"{self.root}/current/{name}"

    def open(self, key: str):
        return self._files.open_input_file(key)

    def text(self, key: str) -> str:
        with self.open(key) as file:
            return file.read().decode()

    def manifest(self) -> dict:
        """The manifest of the snapshot that the pointer names."""
        return json.loads(self.text(json.loads(self.text("latest.json"))["manifest_key"]))

    def object_store_options(self) -> dict[str, str] | None:
        """The storage options of delta-rs and Polars."""
        if self.endpoint is None:
            return None
        return {
            "aws_endpoint_url": self.endpoint,
            "aws_region": self.region,
            "aws_access_key_id": self.key_id,
            "aws_secret_access_key": self.secret,
            "aws_virtual_hosted_style_request": "false",
            "aws_allow_http": str(self.is_plain_http).lower(),
        }
