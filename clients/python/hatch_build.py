"""Generates percached/generated from openapi.yaml when the package is built."""

import subprocess
import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Generate(BuildHookInterface):
    def initialize(self, version, build_data):
        spec = Path(self.root, "../../openapi.yaml")
        to = Path(self.root, "percached/generated")
        if not spec.exists():
            if to.exists():
                return  # this is a source distribution, which contains the generated code
            sys.exit("cannot find openapi.yaml: build the package within percached's repository")
        command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--overwrite"]
        command += ["--path", str(spec), "--output-path", str(to), "--config", str(Path(self.root, "generate.yaml"))]
        # Operations that the generator cannot express are left out with a warning: those of JSON lines.
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(done.stdout)
