"""What a run has shown, as JSON and as a table. Adds to the problems what only the whole run can tell."""

import flatness
from streams import check_memory

MEMORY_SECONDS = 150  # of a quarter in which every fault has come often enough for memory to have reached its height


def cpu_share(soak, begin, end):
    """Of a core, what the server had of it in that part of the run."""
    inside = [(at, cpu) for at, cpu in soak.cpu if begin <= at < end]
    if len(inside) < 2:
        return None
    (first, cpu_before), (last, cpu_after) = inside[0], inside[-1]
    return (cpu_after - cpu_before) / (last - first)


def flatness_report(soak):
    machine = flatness.compare(soak.machine, soak.seconds)
    quarter = soak.seconds / 4
    shares = cpu_share(soak, 0, quarter), cpu_share(soak, 3 * quarter, soak.seconds)
    less_cpu = [shares[0] / shares[1]] if all(shares) else []
    table = {"machine: spin, ms": machine}
    for name, samples in (("first token, s", soak.first_tokens), ("whole answer, s", soak.latencies)):
        table[name] = flatness.compare(samples, soak.seconds)
        for row in table[name]:
            slower = [other["ratio"] for other in machine if other["quantile"] == row["quantile"]]
            row["verdict"] = flatness.judge(row, slower + less_cpu)
            if row["verdict"] == "NOT FLAT":
                soak.counts.problems.append(f"{name}, p{row['quantile'] * 100:g}: last quarter / first quarter = {row['ratio']:.3f}")
    return {"cores_of_the_server_first_and_last_quarter": shares, "flatness": table}


def make_report(soak, flags, leaks):
    memory = {"problems": soak.counts.problems}
    check_memory(soak.memory, memory, before=0, least=MEMORY_SECONDS)
    return {
        "seconds": soak.seconds,
        "seed": flags.seed,
        "clients": flags.clients,
        "idle_connections": flags.idle,
        "requests": {kind: dict(outcomes) for kind, outcomes in sorted(soak.counts.outcomes.items())},
        "lost_tokens": soak.counts.lost_tokens,
        "duplicated_tokens": soak.counts.duplicated_tokens,
        "wrong_answers": soak.counts.wrong_answers,
        "hung_clients": soak.counts.hung_clients,
        "idle_before": getattr(leaks, "before", None),
        "idle_after": getattr(leaks, "after", None),
        "resident_mb_first_and_last_quarter": memory.get("resident_mb"),
        **flatness_report(soak),
        "problems": soak.counts.problems,
    }


def print_report(result):
    print(f"\n{'requests':<44} {'outcome':<34} {'count':>8}")
    for kind, outcomes in result["requests"].items():
        for outcome, count in outcomes.items():
            print(f"{kind:<44} {outcome:<34} {count:>8,}")
    print()
    for name in ("lost_tokens", "duplicated_tokens", "wrong_answers", "hung_clients"):
        print(f"{name.replace('_', ' '):<44} {result[name]:>8,}")
    before, after = result["idle_before"], result["idle_after"]
    if before and after:
        print(f"{'KV blocks, requests, connections left over':<44} {0:>8,}")
        print(f"{'descriptors, idle before and after':<44} {before['descriptors']:>8,} {after['descriptors']:>8,}")
        print(f"{'resident MB, idle before and after':<44} {before['resident_bytes'] / 1e6:>8.1f} {after['resident_bytes'] / 1e6:>8.1f}")
    if result["resident_mb_first_and_last_quarter"]:
        first, last = result["resident_mb_first_and_last_quarter"]
        print(f"{'resident MB, first and last quarter':<44} {first:>8.1f} {last:>8.1f}")
    shares = result["cores_of_the_server_first_and_last_quarter"]
    if all(shares):
        print(f"{'cores the server had, first and last quarter':<44} {shares[0]:>8.2f} {shares[1]:>8.2f}")
    print(f"{'load average, start and end':<44} {result['load_average'][0]:>8.1f} {result['load_average'][-1]:>8.1f}")
    print(f"\n{'':<20} {'first quarter':>14} {'last quarter':>14} {'ratio':>7}  {'95 %':<15} {'samples':<16}")
    for name, rows in result["flatness"].items():
        for row in rows:
            label = f"{name.split(', ')[0]} p{row['quantile'] * 100:g}"
            unit = name.split(", ")[1]
            span = f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}"
            samples = "{:,} {:,}".format(*row["samples"])
            print(f"{label:<20} {row['first']:>11.3f} {unit:<2} {row['last']:>11.3f} {unit:<2} {row['ratio']:>7.3f}  {span:<15} {samples:<16} {row.get('verdict', '')}")
    print(f"\n{len(result['problems'])} problems")
    for problem in result["problems"][:20]:
        print(" ", problem)
