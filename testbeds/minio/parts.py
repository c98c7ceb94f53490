"""Count which objects lack a part: python parts.py ANSWER FOUND

ANSWER is one answer to the question how far MinIO is with going through its objects (POST /minio/admin/v3/heal). What it
says is added to FOUND: a line "lacking BUCKET/OBJECT: STATES" for each object that lacks a part, and at the end a line for
people. Exit code: 0 it was the last answer, 2 there is more to come, 1 it is not such an answer.
"""

import json
import sys

answer_path, found_path = sys.argv[1:]
with open(answer_path, encoding="utf-8") as file:
    answer = json.load(file)
with open(found_path, encoding="utf-8") as file:
    found = file.read().splitlines()
seen = sum(1 for line in found if line == "seen")
lacking = [line for line in found if line.startswith("lacking ")]
for item in answer.get("Items") or []:
    if item["type"] != "object":
        continue
    seen += 1
    states = [drive["state"] for drive in item["before"]["drives"] or []]
    if any(state != "ok" for state in states):
        lacking.append(f"lacking {item['bucket']}/{item['object']}: {', '.join(states)}")
is_last = answer["Summary"] in ("finished", "stopped")
if answer["Summary"] == "stopped":
    lacking.append(f"lacking: it was stopped ({answer.get('FailureDetail', 'no reason given')})")
with open(found_path, "w", encoding="utf-8") as file:
    file.write("".join(line + "\n" for line in ["seen"] * seen + lacking))
    if is_last:
        first = f"; the first: {lacking[0].removeprefix('lacking ')}" if lacking else ""
        file.write(f"{len(lacking)} of {seen} objects lack a part on some drive{first}\n")
sys.exit(0 if is_last else 2)
