package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/takeover"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskotel"
)

// The counters of a worker are what has become of its tasks.
func TestMetricsOfTasks(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		c := e.collect()
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		stop := e.start(&r, taskkit.Config{Observer: c, Queues: []string{"default", "night"}})
		observed := taskkit.WithObserver(c)
		ids := []taskkit.ID{
			e.submit(k, workSpec{Numbers: []int{1, 2, 3, 10, 17}}, observed),
			e.submit(k, workSpec{Do: doFail}, observed),
			e.submit(k, workSpec{Do: doRetry, Numbers: []int{5}}, observed),
			e.submit(k, workSpec{Do: doLater, Numbers: []int{6}}, observed, taskkit.WithQueue("night")),
			e.submit(k, workSpec{}, observed, taskkit.WithIdempotencyKey("once")),
		}
		if _, err := taskkit.Submit(t.Context(), db.DB, k, workSpec{}, taskkit.System(), taskkit.WithSchema(e.schema), observed, taskkit.WithIdempotencyKey("once")); err == nil {
			t.Error("a key was taken twice")
		}
		for _, id := range ids {
			e.ended(id)
		}
		stop()
		c.is(map[string]float64{
			"taskkit.task.submitted{taskkit.kind=work,taskkit.outcome=stored}":     5,
			"taskkit.task.submitted{taskkit.kind=work,taskkit.outcome=duplicate}":  1,
			"taskkit.task.ended{taskkit.kind=work,taskkit.outcome=completed}":      4,
			"taskkit.task.ended{taskkit.kind=work,taskkit.outcome=failure}":        1,
			"taskkit.task.ended{taskkit.kind=work,taskkit.outcome=partial}":        0,
			"taskkit.task.attempts{taskkit.kind=work,taskkit.outcome=ok}":          4,
			"taskkit.task.attempts{taskkit.kind=work,taskkit.outcome=error}":       1,
			"taskkit.task.attempts{taskkit.kind=work,taskkit.outcome=retry}":       1,
			"taskkit.task.attempts{taskkit.kind=work,taskkit.outcome=later}":       1,
			"taskkit.task.attempts{taskkit.kind=work,taskkit.outcome=lost}":        0,
			"taskkit.task.attempts{taskkit.kind=work,taskkit.outcome=interrupted}": 0,
			"taskkit.item.processed{taskkit.kind=work,taskkit.outcome=done}":       5,
			"taskkit.item.processed{taskkit.kind=work,taskkit.outcome=failed}":     1,
			"taskkit.item.processed{taskkit.kind=work,taskkit.outcome=skipped}":    1,
			"taskkit.queue.ended{taskkit.queue=default}":                           4,
			"taskkit.queue.ended{taskkit.queue=night}":                             1,
			"taskkit.task.run.duration{taskkit.kind=work}":                         5,
			"taskkit.worker.slots{taskkit.state=busy}":                             0,
		})
		all := c.all()
		for _, name := range []string{"taskkit.batch.duration{taskkit.kind=work}", "taskkit.claim.duration{}", "taskkit.flush.duration{}"} {
			if all[name] == 0 {
				t.Errorf("%s has no observation", name)
			}
		}
		if waits := all["taskkit.task.wait.duration{taskkit.queue=default}"]; waits < 4 {
			t.Errorf("%v waits are recorded", waits)
		}
	})
}

// The items of a divided task are counted once, by its parts.
func TestMetricsOfDividedTask(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		c := e.collect()
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		stop := e.start(&r, taskkit.Config{Observer: c})
		var numbers []int
		for n := range 100 {
			numbers = append(numbers, n)
		}
		if task := e.ended(e.submit(k, workSpec{Numbers: numbers}, taskkit.WithMaxParallel(3))); task.Progress.Processed() != 100 {
			t.Errorf("processed %+v", task.Progress)
		}
		stop()
		c.is(map[string]float64{
			"taskkit.item.processed{taskkit.kind=work,taskkit.outcome=done}":    80,
			"taskkit.item.processed{taskkit.kind=work,taskkit.outcome=failed}":  10,
			"taskkit.item.processed{taskkit.kind=work,taskkit.outcome=skipped}": 10,
		})
	})
}

// A worker that is lost, and what its tasks wait for, are seen by the other one, whose program alone reads the figures.
func TestMetricsOfTakeover(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		first := e.collect()
		stopFirst := e.start(&r, taskkit.Config{Observer: first, SystemID: "a", Slots: 1, Heartbeat: 20 * time.Second})
		e.until("the first worker runs", func() bool { return first.all()["taskkit.worker.slots{taskkit.state=free}"] == 1 })
		stopReading := e.read(first.Telemetry)
		id := e.submit(k, workSpec{Do: doHold})
		e.until("a worker has the task", func() bool { return w.held.Load() == 1 })
		e.submit(k, workSpec{}, taskkit.WithDelay(time.Hour))
		e.submit(k, workSpec{})
		e.submit(k, workSpec{}, taskkit.WithApproval())
		if _, err := e.client.Pause(t.Context(), e.submit(k, workSpec{}, taskkit.WithDelay(time.Hour))); err != nil {
			t.Fatal(err)
		}
		e.until("the queue is seen", func() bool {
			all := first.all()
			return all["taskkit.queue.tasks{taskkit.queue=default,taskkit.state=due}"] == 1 && all["taskkit.queue.tasks{taskkit.queue=default,taskkit.state=running}"] == 1 &&
				all["taskkit.queue.tasks{taskkit.queue=default,taskkit.state=waiting}"] == 1 && all["taskkit.task.waiting{taskkit.reason=start}"] == 1 &&
				all["taskkit.task.waiting{taskkit.reason=paused}"] == 1 && all["taskkit.task.waiting{taskkit.reason=approval}"] == 1 &&
				all["taskkit.queue.oldest{taskkit.queue=default}"] > 0 && all["taskkit.worker.slots{taskkit.state=busy}"] == 1 && all["taskkit.worker.live{}"] == 1
		})
		second := e.collect()
		e.start(&r, taskkit.Config{Observer: second, SystemID: "b", Slots: 1})
		e.until("the second worker runs", func() bool { return second.all()["taskkit.worker.slots{taskkit.state=free}"] == 1 })
		e.read(second.Telemetry)
		e.until("both are live", func() bool { return first.all()["taskkit.worker.live{}"] == 2 })
		if names := ofName(second.all(), "taskkit.reader.age{}"); len(names) > 0 {
			t.Errorf("two programs read: %v", names)
		}
		e.until("the second has released the task of the first", func() bool {
			if err := takeover.Silence(t.Context(), db, e.schema, "a"); err != nil {
				t.Fatal(err)
			}
			return first.all()["taskkit.worker.declared_dead{}"]+second.all()["taskkit.worker.declared_dead{}"] >= 1
		})
		close(w.release)
		e.ended(id)
		stopReading()
		stopFirst()
		e.until("the second program reads", func() bool { return len(ofName(second.all(), "taskkit.reader.age{}")) == 1 })
		if n := first.all()["taskkit.worker.taken_over{}"] + second.all()["taskkit.worker.taken_over{}"]; n < 1 {
			t.Errorf("%v tasks were taken over", n)
		}
	})
}

// While the figures cannot be read they stay, and their age grows.
func TestAgeOfFigures(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, k := newEnv(t, db), kindNamed("work")
		c := e.collect()
		e.submit(k, workSpec{})
		e.read(c.Telemetry)
		due := func() float64 { return c.all()["taskkit.queue.tasks{taskkit.queue=default,taskkit.state=due}"] }
		e.until("the task is seen", func() bool { return due() == 1 })
		c.is(map[string]float64{
			"taskkit.build_info{dialect=" + string(db.Dialect) + ",schema=" + e.schema + ",version=" + taskkit.Version + "}": 1,
		})
		table := "taskkit_task_process"
		if db.Dialect == dialect.Postgres {
			table = e.schema + "." + table
		}
		exec := func(query string) {
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		exec("ALTER TABLE " + table + " RENAME TO elsewhere")
		e.submit(k, workSpec{})
		e.until("the figures are old", func() bool { return c.all()["taskkit.reader.age{}"] > 3 })
		if n := due(); n != 1 {
			t.Errorf("%v tasks are due, want the figure of the last reading", n)
		}
		exec("ALTER TABLE " + strings.TrimSuffix(table, "taskkit_task_process") + "elsewhere RENAME TO taskkit_task_process")
		e.until("the figures are read again", func() bool { return due() == 2 })
	})
}

// stuck is an exporter that does not answer.
type stuck struct {
	called chan struct{}
	end    chan struct{}
}

func (stuck) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (stuck) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (s stuck) Export(context.Context, *metricdata.ResourceMetrics) error {
	select {
	case s.called <- struct{}{}:
	default:
	}
	<-s.end
	return nil
}

func (stuck) ForceFlush(context.Context) error { return nil }
func (stuck) Shutdown(context.Context) error   { return nil }

// A worker ends its tasks while an exporter does not answer.
func TestExporterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		s := stuck{make(chan struct{}, 1), make(chan struct{})}
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(s, sdkmetric.WithInterval(time.Millisecond), sdkmetric.WithTimeout(time.Hour))))
		t.Cleanup(func() {
			close(s.end)
			if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		telemetry, err := taskotel.New(taskotel.Options{MeterProvider: provider, Schema: e.schema})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.called:
		case <-time.After(testdb.Patience(t)):
			t.Fatal("nothing is exported")
		}
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		e.start(&r, taskkit.Config{Observer: telemetry})
		e.read(telemetry)
		for range 20 {
			if task := e.ended(e.submit(k, workSpec{Numbers: []int{1, 2, 3}}, taskkit.WithObserver(telemetry))); task.Status != taskkit.StatusCompleted {
				t.Errorf("the task ended in %s", task.Status)
			}
		}
	})
}

// failing is an exporter that fails.
type failing struct{ stuck }

func (failing) Export(context.Context, *metricdata.ResourceMetrics) error {
	return errors.New("the collector refuses the connection")
}

// The doctor finds an exporter that fails, by the error handler of OpenTelemetry.
func TestExporterThatFails(t *testing.T) {
	t.Parallel()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(failing{}, sdkmetric.WithInterval(10*time.Millisecond))))
	telemetry, err := taskotel.New(taskotel.Options{MeterProvider: provider, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	otel.SetErrorHandler(telemetry) // no other test of this package has one
	t.Cleanup(func() { _ = provider.Shutdown(context.WithoutCancel(t.Context())) })
	e := &env{T: t}
	e.until("the doctor finds it", func() bool {
		found, err := telemetry.Check().Read(t.Context(), &taskdoctor.Reader{Options: taskdoctor.Options{Now: time.Now}})
		return err == nil && len(found) == 1 && found[0].ID == "exporter_failing" && strings.Contains(found[0].Text, "refuses the connection")
	})
}

// Of 200 kinds in 50 queues, 100 have series of their own, and no task is lost from the sums.
func TestManyKindsAndQueues(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w := newEnv(t, db), newWork()
		c := e.collect()
		var (
			r      taskkit.Registry
			queues []string
			ids    []taskkit.ID
		)
		for q := range 50 {
			queues = append(queues, fmt.Sprint("queue", q))
		}
		kinds := make([]*workKind, 200)
		for i := range kinds {
			kinds[i] = kindNamed(fmt.Sprint("kind", i))
			taskkit.Register(&r, kinds[i], w)
		}
		for i, k := range kinds {
			ids = append(ids, e.submit(k, workSpec{Numbers: []int{1}}, taskkit.WithQueue(queues[i%50]), taskkit.WithObserver(c)))
		}
		e.read(c.Telemetry)
		e.until("the queues are seen", func() bool { return len(ofName(c.all(), "taskkit.queue.oldest{}")) == 50 })
		e.start(&r, taskkit.Config{Observer: c, Queues: queues})
		for _, id := range ids {
			e.ended(id)
		}
		sum, series := 0.0, 0
		e.until("all ends are counted", func() bool {
			sum, series = 0, 0
			for name, n := range c.all() {
				if strings.HasPrefix(name, "taskkit.task.ended{") {
					sum, series = sum+n, series+1
				}
			}
			return sum == 200
		})
		if kinds := series / 5; kinds != 101 {
			t.Errorf("%d kinds have series, want 100 and one for all others", kinds)
		}
		if n := c.all()["taskkit.task.ended{taskkit.kind="+taskotel.Other+",taskkit.outcome=completed}"]; n != 100 {
			t.Errorf("%v tasks of other kinds have ended, want 100", n)
		}
	})
}
