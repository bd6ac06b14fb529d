"""Which files of a table stay when some of its rows change: the rules of src/publish/layout.ts, with the limits that the job names."""


def files_to_keep(files: list[dict], limits: dict) -> list[dict]:
    """The files of a changed partition that may stay; none: it is written as a whole."""
    if sum(file["bytes"] for file in files) < limits["small_bytes"]:
        return []
    if len(files) < limits["most_files"]:
        return files
    return sorted(files, key=lambda file: (-file["bytes"], file["key"]))[:1]


def keep(files: list[dict], came: int, gone: dict[str, int], limits: dict) -> list[dict]:
    """
    The files of a partition that stay, where `came` rows are new and `gone` of them, by SHA-256 of the file, no longer hold.
    A file of which no row is left does not stay.
    """
    kept = files_to_keep(files, limits)
    names = {file["sha256"] for file in kept}

    def live(of: list[dict]) -> int:
        return sum(file["rows"] - file["deletes"] - gone.get(file["sha256"], 0) for file in of)

    stored = sum(file["rows"] for file in kept)
    fresh = came + live([file for file in files if file["sha256"] not in names])
    rows = came + live(files)
    if stored - live(kept) > limits["most_deleted"] * stored or fresh > limits["most_fresh"] * rows:
        return []
    return [file for file in kept if file["rows"] - file["deletes"] - gone.get(file["sha256"], 0) > 0]
