package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/store"
)

// Each indicator is compared with its limit, and says what it found.
func TestThrottleLimits(t *testing.T) {
	t.Parallel()
	c := ThrottleConfig{ReplicaLag: time.Minute, ReplicaBytes: 1 << 30, IgnoreReplicas: []string{"late"}, WALRate: 100 << 20}
	none := ThrottleConfig{}
	for name, x := range map[string]struct {
		config ThrottleConfig
		r      store.HealthReading
		rate   int64
		want   string
	}{
		"nothing":    {c, store.HealthReading{}, 0, ""},
		"autovacuum": {c, store.HealthReading{Vacuums: []store.Vacuum{{Table: "people", Command: "autovacuum", Phase: "scanning heap", Percent: 34}}}, 0, "vacuum people: autovacuum works on table people (scanning heap, 34 % scanned)"},
		"wraparound": {c, store.HealthReading{Vacuums: []store.Vacuum{{Table: "people", Command: "autovacuum", Wraparound: true, Percent: -1}}}, 0, "vacuum people: autovacuum to prevent wraparound works on table people"},
		"cluster":    {c, store.HealthReading{Vacuums: []store.Vacuum{{Table: "people", Command: "CLUSTER", Phase: "sorting", Percent: -1}}}, 0, "vacuum people: CLUSTER works on table people (sorting)"},
		"late":       {c, store.HealthReading{Replicas: []store.Replica{{Name: "a", Behind: 61 * time.Second, Bytes: 3 << 20}}}, 0, "replicas : standby a is 1m1s and 3.0 MiB behind"},
		"far":        {c, store.HealthReading{Replicas: []store.Replica{{Name: "a", Bytes: 1<<30 + 1}}}, 0, "replicas : standby a is 1.0 GiB behind"},
		"near":       {c, store.HealthReading{Replicas: []store.Replica{{Name: "a", Behind: time.Minute, Bytes: 1 << 30}}}, 0, ""},
		"ignored":    {c, store.HealthReading{Replicas: []store.Replica{{Name: "late", Behind: time.Hour, Bytes: 1 << 40}}}, 0, ""},
		"no limits":  {none, store.HealthReading{Replicas: []store.Replica{{Name: "a", Behind: time.Hour, Bytes: 1 << 40}}}, 1 << 40, ""},
		"wal":        {c, store.HealthReading{}, 120 << 20, "wal : WAL is written at 120.0 MiB/s, more than 100.0 MiB/s"},
		"slow wal":   {c, store.HealthReading{}, 100 << 20, ""},
		"locks": {
			c,
			store.HealthReading{LockWaits: []store.LockWait{{For: 12345 * time.Millisecond}, {Table: "people", For: 500 * time.Millisecond}}},
			0,
			"locks : a session has waited 12.3s for a lock that a batch holds, locks people: a session has waited 500ms for a lock on table people",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range x.config.evaluate(x.r, x.rate) {
				got = append(got, fmt.Sprintf("%s %s: %s", f.indicator, f.table, f.reason))
			}
			if got := strings.Join(got, ", "); got != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}

// The rate of WAL is that between two readings, if they do not lie too far apart.
func TestThrottleWALRate(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	x := &Throttle{config: ThrottleConfig{Interval: 5 * time.Second}}
	for n, c := range []struct {
		after time.Duration
		wal   int64
		want  int64
	}{
		{0, 1000, 0},
		{5 * time.Second, 6000, 1000},
		{10 * time.Second, 6000, 0},
		{10 * time.Second, 9000, 0},
		{70 * time.Second, 15000, 100},
		{131 * time.Second, 150000, 0},
		{132 * time.Second, 100, 0}, // after a failover
		{134 * time.Second, 300, 100},
	} {
		if got := x.walRate(store.HealthReading{WAL: c.wal, At: at.Add(c.after)}); got != c.want {
			t.Errorf("%d: %d bytes per second, want %d", n, got, c.want)
		}
	}
	if got := x.walRate(store.HealthReading{}); got != 0 {
		t.Errorf("%d bytes per second without a reading", got)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 30: "5.0 GiB", 1 << 62: "4.0 EiB"} {
		if got := size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
