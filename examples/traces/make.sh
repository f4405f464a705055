#!/usr/bin/env bash
# Makes the traces beside this file anew: the same ones every time, since the
# random numbers are its own (Lehmer's, exact in awk's doubles).
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")"

random='
function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
function region(r) { r = random(); return r < 0.5 ? "us" : r < 0.85 ? "eu" : "ap" }
function emit(at, where, key, cost) { printf "%d,%s,%s,%d\n", at, where, key, cost }
'

# Ten minutes of a web site: 40 visitors who come and go, each at the region next
# to them, and a crawler that reads as fast as it can, twice.
web() {
    awk "$random"'BEGIN {
        seed = 20240601
        for (i = 1; i <= 40; i++) home[i] = region()
        for (at = 0; at < 600000; at += int(-1800 * log(random()))) {
            i = 1 + int(40 * random() * random())
            emit(at, home[i], sprintf("visitor-%02d", i), 1)
        }
        for (start = 120000; start <= 420000; start += 300000)
            for (at = start; at < start + 20000; at += 100 + int(200 * random())) emit(at, "eu", "crawler", 1)
    }' | sort -t, -n -s -k1,1
}

# Two minutes of two language-model services, costs in tokens: chat is steady,
# code comes in a wave that moves from region to region.
llm() {
    awk "$random"'BEGIN {
        seed = 20231116
        for (at = 0; at < 120000; at += int(-400 * log(random()))) emit(at, region(), "chat", 200 + int(2600 * random() * random()))
        for (at = 0; at < 120000; at += int(-pace * log(random()))) {
            wave = int(at / 30000)
            pace = wave % 2 ? 130 : 900
            emit(at, wave < 2 ? "us" : random() < 0.7 ? "eu" : "ap", "code", 800 + int(7000 * random() * random()))
        }
    }' | sort -t, -n -s -k1,1
}

for trace in web llm; do
    { echo time_ms,region,key,cost; "$trace"; } > "$trace.csv"
done
