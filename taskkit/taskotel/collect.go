package taskotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// collect passes the present values to an exporter. It reads nothing from the database, and takes a lock for the few values that
// change seldom.
func (t *Telemetry) collect(_ context.Context, o metric.Observer) error {
	count := func(name string, s *series) { o.ObserveInt64(t.meters.counters[name], s.n.Load(), s.attrs...) }
	counts := func(name string, all []series) {
		for i := range all {
			count(name, &all[i])
		}
	}
	set := func(name string, v float64, attrs ...metric.ObserveOption) {
		o.ObserveFloat64(t.meters.gauges[name], v, attrs...)
	}
	for _, k := range t.kinds.all() {
		counts("taskkit.task.submitted", k.submitted)
		counts("taskkit.task.ended", k.ended)
		counts("taskkit.task.attempts", k.attempts)
		counts("taskkit.item.processed", k.processed)
	}
	for _, q := range t.queues.all() {
		count("taskkit.queue.ended", &q.ended)
	}
	count("taskkit.worker.taken_over", &t.takenOver)
	count("taskkit.worker.declared_dead", &t.declaredDead)
	counts("taskkit.commit.uncertain", t.uncertain)
	t.collectWorkers(set)
	if build := t.build.Load(); build != nil {
		set("taskkit.build_info", 1, *build...)
	}
	f := t.figures.Load()
	if f == nil {
		return nil
	}
	set("taskkit.reader.age", time.Since(f.read).Seconds())
	for _, v := range f.values {
		set(v.name, v.value, v.attrs...)
	}
	return nil
}

// collectWorkers passes the values of the workers that run here.
func (t *Telemetry) collectWorkers(set func(name string, v float64, attrs ...metric.ObserveOption)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slots, busy := 0, 0
	for _, w := range t.workers {
		slots += w.slots
		if w.busy != nil {
			busy += min(w.busy(), w.slots)
		}
	}
	set("taskkit.worker.slots", float64(busy), observed(keyState.String(slotStates[0]))...)
	set("taskkit.worker.slots", float64(slots-busy), observed(keyState.String(slotStates[1]))...)
	indicators := make(map[string]int)
	for of := range t.throttling {
		if _, ok := indicators[of.indicator]; !ok && len(indicators) >= valuesMost {
			of.indicator = Other
		}
		indicators[of.indicator]++
	}
	for name, n := range indicators {
		set("taskkit.throttle.active", float64(n), observed(keyReason.String(name))...)
	}
}
