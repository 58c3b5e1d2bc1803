package sqlite

import (
	"database/sql"
	"testing"
	"time"
)

// A pool is jammed when nobody who waits gets a connection, and not while it is busy.
func TestJam(t *testing.T) {
	t.Parallel()
	const most = 20
	busy := func(waits int64, ended time.Duration) sql.DBStats {
		return sql.DBStats{MaxOpenConnections: most, InUse: most, WaitCount: waits, WaitDuration: ended}
	}
	free := func(waits int64, ended time.Duration) sql.DBStats {
		return sql.DBStats{MaxOpenConnections: most, InUse: most - 1, WaitCount: waits, WaitDuration: ended}
	}
	for name, c := range map[string]struct {
		at   func(tick int) sql.DBStats
		want bool
	}{
		"idle":                       {func(int) sql.DBStats { return free(3, 5) }, false},
		"busy, and nobody waits":     {func(int) sql.DBStats { return busy(0, 0) }, false},
		"one waits in vain":          {func(int) sql.DBStats { return busy(1, 0) }, true},
		"more and more wait in vain": {func(tick int) sql.DBStats { return busy(int64(tick+1), 7) }, true},
		"each waits and gets one":    {func(tick int) sql.DBStats { return busy(int64(tick), time.Duration(tick)) }, false},
		"a burst, and free now": {func(tick int) sql.DBStats {
			return map[bool]sql.DBStats{true: busy(40, 0), false: free(40, 9)}[tick < 10]
		}, false},
		"one is left after a burst":      {func(tick int) sql.DBStats { return busy(40, time.Duration(min(tick, 10))) }, true},
		"a pool without a bound":         {func(tick int) sql.DBStats { return sql.DBStats{InUse: tick} }, false},
		"waits that ended some time ago": {func(int) sql.DBStats { return free(40, 9) }, false},
	} {
		j, now, got := jam{}, time.Now(), false
		j.seen(free(0, 0), now)
		for tick := range 100 {
			got = j.seen(c.at(tick), now.Add(time.Duration(tick)*watchEvery)) || got
		}
		if got != c.want {
			t.Errorf("%s: jammed is %t", name, got)
		}
	}
}
