// Command grafana writes the Grafana board of the metrics in docs/telemetry.md to standard output: go run . >taskkit.json
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	text, err := board()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

// A panel is a graph of queries in a row of the board.
type panel struct {
	row, title, unit string
	queries          []query
}

// A query is an expression, and the legend of its series.
type query struct{ expr, legend string }

// panels are the graphs of the board. The figures that one program of all reads are maxima over programs.
var panels = []panel{
	{"Queues", "Oldest due task", "s", []query{{`max by (taskkit_queue) (taskkit_queue_oldest_seconds)`, "{{taskkit_queue}}"}}},
	{"Queues", "Due tasks", "short", []query{{`max by (taskkit_queue) (taskkit_queue_tasks{taskkit_state="due"})`, "{{taskkit_queue}}"}}},
	{"Queues", "Running tasks", "short", []query{{`max by (taskkit_queue) (taskkit_queue_tasks{taskkit_state="running"})`, "{{taskkit_queue}}"}}},
	{"Queues", "Tasks that wait, by cause", "short", []query{{`max by (taskkit_reason) (taskkit_task_waiting)`, "{{taskkit_reason}}"}}},
	{"Queues", "Wait until a claim, 95 %", "s", []query{{`histogram_quantile(0.95, sum by (taskkit_queue, le) (rate(taskkit_task_wait_duration_seconds_bucket[$__rate_interval])))`, "{{taskkit_queue}}"}}},
	{"Queues", "Age of these figures", "s", []query{{`min(taskkit_reader_age_seconds)`, "age"}, {`max(taskkit_schedule_lag_seconds)`, "latest schedule"}}},
	{"Tasks", "Submitted", "ops", []query{{`sum by (taskkit_kind, taskkit_outcome) (rate(taskkit_task_submitted_total[$__rate_interval]))`, "{{taskkit_kind}} {{taskkit_outcome}}"}}},
	{"Tasks", "Ended", "ops", []query{{`sum by (taskkit_kind, taskkit_outcome) (rate(taskkit_task_ended_total[$__rate_interval]))`, "{{taskkit_kind}} {{taskkit_outcome}}"}, {`sum by (taskkit_queue) (rate(taskkit_queue_ended_total[$__rate_interval]))`, "queue {{taskkit_queue}}"}}},
	{"Tasks", "Attempts that did not succeed", "ops", []query{{`sum by (taskkit_kind, taskkit_outcome) (rate(taskkit_task_attempts_total{taskkit_outcome!="ok"}[$__rate_interval]))`, "{{taskkit_kind}} {{taskkit_outcome}}"}}},
	{"Tasks", "Items", "ops", []query{{`sum by (taskkit_kind, taskkit_outcome) (rate(taskkit_item_processed_total[$__rate_interval]))`, "{{taskkit_kind}} {{taskkit_outcome}}"}}},
	{"Tasks", "Batches, 95 %", "s", []query{{`histogram_quantile(0.95, sum by (taskkit_kind, le) (rate(taskkit_batch_duration_seconds_bucket[$__rate_interval])))`, "{{taskkit_kind}}"}}},
	{"Tasks", "Tasks at their last worker, 95 %", "s", []query{{`histogram_quantile(0.95, sum by (taskkit_kind, le) (rate(taskkit_task_run_duration_seconds_bucket[$__rate_interval])))`, "{{taskkit_kind}}"}}},
	{"Workers", "Live workers", "short", []query{{`max(taskkit_worker_live)`, "live"}, {`count by (version, dialect, schema) (taskkit_build_info)`, "{{version}} {{dialect}} {{schema}}"}}},
	{"Workers", "Slots", "short", []query{{`sum by (taskkit_state) (taskkit_worker_slots)`, "{{taskkit_state}}"}}},
	{"Workers", "Claims and group commits, 95 %", "s", []query{
		{`histogram_quantile(0.95, sum by (le) (rate(taskkit_claim_duration_seconds_bucket[$__rate_interval])))`, "claim"},
		{`histogram_quantile(0.95, sum by (le) (rate(taskkit_flush_duration_seconds_bucket[$__rate_interval])))`, "group commit"},
	}},
	{"Workers", "Lost workers, tasks taken over, uncertain commits", "short", []query{
		{`sum(increase(taskkit_worker_declared_dead_total[$__rate_interval]))`, "workers declared dead"},
		{`sum(increase(taskkit_worker_taken_over_total[$__rate_interval]))`, "tasks taken over"},
		{`sum by (taskkit_reason) (increase(taskkit_commit_uncertain_total[$__rate_interval]))`, "uncertain commits, {{taskkit_reason}}"},
	}},
	{"Workers", "Workers whose batches wait", "short", []query{{`sum by (taskkit_reason) (taskkit_throttle_active)`, "{{taskkit_reason}}"}}},
}

// source is the data source that the user of the board chooses.
var source = common.DataSourceRef{Type: new("prometheus"), Uid: new("${source}")}

// board returns the board as JSON.
func board() ([]byte, error) {
	//nolint:staticcheck // its successor is for Grafana 12 and later only
	b := dashboard.NewDashboardBuilder("taskkit").Uid("taskkit").Tags([]string{"taskkit"}).Refresh("30s").Time("now-1h", "now").Timezone("browser").
		WithVariable(dashboard.NewDatasourceVariableBuilder("source").Label("Source").Type("prometheus"))
	row := ""
	for _, p := range panels {
		if p.row != row {
			row = p.row
			b.WithRow(dashboard.NewRowBuilder(row))
		}
		graph := timeseries.NewPanelBuilder().Title(p.title).Unit(p.unit).Datasource(source).Min(0).Height(8).Span(8)
		for i, q := range p.queries {
			graph.WithTarget(prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.legend).RefId(string(rune('A' + i))))
		}
		b.WithPanel(graph)
	}
	made, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("build the board: %w", err)
	}
	text, err := json.MarshalIndent(made, "", "  ")
	return append(text, '\n'), err
}
