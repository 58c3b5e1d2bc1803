// Package taskotel gives metrics of workers, queues and submissions to OpenTelemetry, and traces of submissions and of the work on tasks.
//
// A [Telemetry] is the Config.Observer of workers, and an option of submissions, see [taskkit.dev/taskkit.WithObserver]. It counts in memory, and
// the meter provider of the program reads the counters when it collects: no worker waits for an exporter. [Telemetry.Read] runs beside a
// worker and reads how long the queues are. docs/telemetry.md lists the metrics and the spans.
//
// The package links the API of OpenTelemetry alone. The program chooses the SDK and the exporter.
package taskotel
