package taskkit

import (
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/throttle"
)

// The defaults of a [throttle.Config].
const (
	defaultThrottleInterval = 5 * time.Second
	defaultReplicaLag       = time.Minute
	defaultReplicaBytes     = 1 << 30
	defaultLockWait         = 10 * time.Second
)

// minThrottleInterval is the shortest interval of a [throttle.Config].
const minThrottleInterval = 10 * time.Millisecond

// throttleConfig returns the configuration of the engine, with the defaults filled in.
func throttleConfig(t throttle.Config) session.ThrottleConfig {
	if t.Off {
		return session.ThrottleConfig{}
	}
	return session.ThrottleConfig{
		Interval: or(t.Interval, defaultThrottleInterval), Vacuum: !t.IgnoreVacuum,
		ReplicaLag: or(t.ReplicaLag, defaultReplicaLag), ReplicaBytes: or(t.ReplicaBytes, defaultReplicaBytes),
		IgnoreReplicas: t.IgnoreReplicas, WALRate: t.WALRate, LockWait: or(t.LockWait, defaultLockWait),
		Indicators: t.Indicators,
	}
}

// throttleProblems returns what is wrong with the configuration, by field.
func throttleProblems(t throttle.Config) (fields, problems []string) {
	fail := func(field, format string, args ...any) {
		fields, problems = append(fields, field), append(problems, fmt.Sprintf(format, args...))
	}
	if t.Interval != 0 && t.Interval < minThrottleInterval {
		fail("Interval", "%v is less than %v: reading the indicators would load the database for nothing", t.Interval, minThrottleInterval)
	}
	if t.WALRate < 0 {
		fail("WALRate", "%d bytes per second is negative: give a rate, or 0 for no limit", t.WALRate)
	}
	if slices.Contains(t.IgnoreReplicas, "") {
		fail("IgnoreReplicas", "it has an empty name: give the application_name of a standby")
	}
	names := []string{string(store.HealthVacuum), string(store.HealthReplicas), string(store.HealthWAL), string(store.HealthLocks), session.IndicatorHealth}
	for n, i := range t.Indicators {
		field := fmt.Sprintf("Indicators[%d].", n)
		switch {
		case !lifecycle.ValidKind(i.Name):
			fail(field+"Name", "%q is not a valid name: use %s", i.Name, lifecycle.KindRule)
		case slices.Contains(names, i.Name):
			fail(field+"Name", "another indicator has the name %s: give each its own", i.Name)
		}
		names = append(names, i.Name)
		if i.Check == nil {
			fail(field+"Check", "nil: it says whether batches may run")
		}
		if i.Kinds != nil && len(i.Kinds) == 0 {
			fail(field+"Kinds", "it is empty, so that the indicator concerns no kind: name kinds, or leave it nil for all")
		}
		for _, kind := range i.Kinds {
			if !lifecycle.ValidKind(kind) {
				fail(field+"Kinds", "%q is not a valid name of a kind: use %s", kind, lifecycle.KindRule)
			}
		}
	}
	return fields, problems
}

// throttledAliases returns an *[OptionError] for each alias among the kinds of indicators: it would
// concern no task.
func throttledAliases(t throttle.Config, registered map[string]*session.Kind) (errs []error) {
	for n, i := range t.Indicators {
		for _, name := range i.Kinds {
			if k := registered[name]; k != nil && k.Name != name {
				errs = append(errs, &OptionError{fmt.Sprintf("Config.Throttle.Indicators[%d].Kinds", n), fmt.Sprintf(
					"%s is an alias of the kind %s: name the kind", name, k.Name)})
			}
		}
	}
	return errs
}
