package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	prometheusexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"taskkit.dev/internal/testkit/takeover"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskotel"
	"taskkit.dev/taskkit/throttle"
)

// scraped is a Prometheus that scrapes a program.
type scraped struct {
	*env
	api string
}

// scrape starts a Prometheus for the programs at these addresses, or skips the test where there is none. It has the rules of contrib.
func scrape(e *env, addresses ...string) scraped {
	e.Helper()
	rules, err := os.ReadFile("../../../contrib/prometheus/taskkit.rules.yml")
	if err != nil {
		e.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\nscrape_configs: [{job_name: taskkit, static_configs: [{targets: [%s]}]}]", strings.Join(addresses, ", "))
	server := testdb.Broker(e, func(ctx context.Context) (*cluster.Server, error) {
		return cluster.StartPrometheus(ctx, config, string(rules))
	})
	return scraped{e, server.DSN + "/api/v1/"}
}

// get reads a path of the API into an answer.
func (s scraped) get(path string, to any) {
	s.Helper()
	r, err := http.NewRequestWithContext(testdb.Within(s), http.MethodGet, s.api+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	body := struct {
		Status string
		Error  string
		Data   any
	}{Data: to}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || body.Status != "success" {
		s.Fatalf("%s: %s %s, %v", path, body.Status, body.Error, err)
	}
}

// query answers an expression: the values of its series.
func (s scraped) query(expr string) (values []float64) {
	s.Helper()
	var found struct {
		Result []struct{ Value [2]any }
	}
	s.get("query?query="+url.QueryEscape(expr), &found)
	for _, r := range found.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s.Fatal(err)
		}
		values = append(values, v)
	}
	return values
}

// holds waits until an expression has an answer.
func (s scraped) holds(expr string) {
	s.Helper()
	s.until(expr, func() bool { return len(s.query(expr)) > 0 })
}

// exported serves the metrics of a new telemetry as a program does, and returns its address.
func exported(e *env, tracer trace.TracerProvider) (*taskotel.Telemetry, string) {
	e.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := prometheusexporter.New(prometheusexporter.WithRegisterer(registry), prometheusexporter.WithoutScopeInfo(), prometheusexporter.WithoutTargetInfo())
	if err != nil {
		e.Fatal(err)
	}
	t, err := taskotel.New(taskotel.Options{
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)), TracerProvider: tracer, Schema: e.schema, Every: time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		e.Fatal(err)
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	e.Cleanup(server.Close)
	return t, strings.TrimPrefix(server.URL, "http://")
}

// documented matches the metrics that the documentation lists.
var documented = regexp.MustCompile("(?m)^\\| `(taskkit_\\w+)` \\| (\\w+) \\|")

// A Prometheus that scrapes a program sees each metric of the documentation through a drain, a bulk action, a takeover, a throttle and a dead
// letter. It answers each query of the board, and evaluates each rule.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		telemetry, address := exported(e, nil)
		s := scrape(e, address)
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		throttled := kindNamed("throttled")
		taskkit.Register(&r, throttled, newWork())
		var unwell atomic.Bool
		unwell.Store(true)
		config := taskkit.Config{Observer: telemetry, Throttle: throttle.Config{Interval: 100 * time.Millisecond, Indicators: []throttle.Indicator{{
			Name: "load", Kinds: []string{"throttled"},
			Check: func(context.Context) (string, error) {
				if unwell.Load() {
					return "the load is high", nil
				}
				return "", nil
			},
		}}}}
		first, second := config, config
		first.SystemID, first.Slots, first.Heartbeat = "a", 2, 20*time.Second
		e.start(&r, first)
		e.read(telemetry)
		observed := taskkit.WithObserver(telemetry)

		// A takeover: the first worker has a task when it is declared dead, and the second goes on with it.
		held := e.submit(k, workSpec{Do: doHold, Numbers: []int{1}}, observed)
		e.until("a worker has the task", func() bool { return w.held.Load() == 1 })
		second.SystemID, second.Slots = "b", 2
		e.start(&r, second)
		s.holds(`max(taskkit_worker_live) == 2`)
		e.until("the first worker is declared dead", func() bool {
			if err := takeover.Silence(t.Context(), db, e.schema, "a"); err != nil {
				t.Fatal(err)
			}
			return len(s.query(`taskkit_worker_declared_dead_total > 0`)) > 0
		})
		close(w.release)
		e.ended(held)
		s.holds(`taskkit_worker_taken_over_total > 0`)

		// A throttle.
		waits := e.submit(throttled, workSpec{Numbers: []int{1}}, observed)
		s.holds(`taskkit_throttle_active{taskkit_reason="load"} > 0`)
		unwell.Store(false)
		e.ended(waits)

		// A dead letter, a bulk action, a drain.
		e.ended(e.submit(k, workSpec{Do: doFail}, observed))
		s.holds(`taskkit_task_ended_total{taskkit_kind="work", taskkit_outcome="failure"} == 1`)
		numbers := make([]int, 300)
		for i := range numbers {
			numbers[i] = i
		}
		e.ended(e.submit(k, workSpec{Numbers: numbers}, observed))
		s.holds(`sum(taskkit_item_processed_total{taskkit_kind="work", taskkit_outcome="failed"}) == 30`)
		for range 50 {
			e.submit(k, workSpec{Numbers: []int{1}}, observed)
		}
		s.holds(`taskkit_task_submitted_total{taskkit_kind="work", taskkit_outcome="stored"} == 53`)
		s.holds(`taskkit_task_ended_total{taskkit_kind="work", taskkit_outcome="completed"} == 52`)
		s.holds(`taskkit_queue_ended_total{taskkit_queue="default"} == 54`)
		e.submit(k, workSpec{}, taskkit.WithDelay(time.Hour), observed)
		s.holds(`taskkit_task_waiting{taskkit_reason="start"} == 1`)

		page, err := os.ReadFile("../../../docs/telemetry.md")
		if err != nil {
			t.Fatal(err)
		}
		all := documented.FindAllStringSubmatch(string(page), -1)
		if len(all) < 20 {
			t.Fatalf("the documentation lists %d metrics", len(all))
		}
		for _, m := range all {
			name := m[1]
			if m[2] == "histogram" {
				name += "_count"
			}
			if name == "taskkit_throttle_active" {
				name = "last_over_time(" + name + "[1h])" // it was well again
			}
			s.holds(name)
		}
		for _, expr := range boardQueries(t) {
			s.query(expr)
		}
		var rules struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		s.until("the rules are evaluated", func() bool {
			s.get("rules", &rules)
			if len(rules.Groups) != 1 {
				t.Fatalf("the server has the rules %+v", rules)
			}
			for _, r := range rules.Groups[0].Rules {
				if r.Health == "err" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health != "ok" {
					return false
				}
			}
			return len(rules.Groups[0].Rules) > 0
		})
	})
}

// boardQueries returns the expressions of the Grafana board, as Grafana would send them.
func boardQueries(t *testing.T) (found []string) {
	t.Helper()
	text, err := os.ReadFile("../../../contrib/grafana/taskkit.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			found = append(found, strings.ReplaceAll(q.Expr, "$__rate_interval", "1m"))
		}
	}
	if len(found) < 15 {
		t.Fatalf("the board has %d queries", len(found))
	}
	return found
}

// The names of the metrics that an expression reads.
var metricNames = regexp.MustCompile(`\btaskkit_\w+_?\b`)

// The queries of the board and the rules name metrics that the documentation lists.
func TestQueriesNameDocumentedMetrics(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile("../../../contrib/prometheus/taskkit.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"taskkit_kind": true, "taskkit_queue": true, "taskkit_outcome": true, "taskkit_reason": true, "taskkit_state": true}
	for _, m := range documented.FindAllStringSubmatch(string(page), -1) {
		known[m[1]] = true
	}
	for _, text := range append(boardQueries(t), string(rules)) {
		for _, name := range metricNames.FindAllString(text, -1) {
			if !known[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s is no metric of docs/telemetry.md", name)
			}
		}
	}
}

// promtool runs promtool in the directory of the rules, or skips the test where there is none.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := cluster.Promtool(t.Context())
	if missing, ok := errors.AsType[*cluster.NotInstalledError](err); ok {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(testdb.Within(t), path, args...)
	cmd.Dir = "../../../contrib/prometheus"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Each rule fires and resolves.
func TestRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "taskkit.rules.yml")
	promtool(t, "test", "rules", "taskkit.rules.test.yml")
	read := func(name string) string {
		text, err := os.ReadFile("../../../contrib/prometheus/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tests := read("taskkit.rules.test.yml")
	alerts := regexp.MustCompile(`(?m)- alert: (\w+)$`).FindAllStringSubmatch(read("taskkit.rules.yml"), -1)
	for _, a := range alerts {
		fires := strings.Contains(tests, "alertname: "+a[1]+"\n        exp_alerts:\n")
		if resolves := strings.Count(tests, "alertname: "+a[1]+", exp_alerts: []}"); !fires || resolves < 2 {
			t.Errorf("%s: the tests have it fire: %t, and not fire %d times, want before and after", a[1], fires, resolves)
		}
	}
	if len(alerts) < 7 {
		t.Errorf("%d rules are found", len(alerts))
	}
}
