package dev

import (
	"context"
	"fmt"

	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// nightly is the schedule of the demonstration.
const nightly = "watch-everyone-nightly"

// schedule sets a schedule as a program does when it starts, and prints its next fires. That is
// done after all checks, which it must not disturb if it fires.
func (r *run) schedule(ctx context.Context) error {
	everyNight := taskops.Schedule{Cron: "H 2 * * *", Zone: "Europe/Oslo"}
	err := taskops.SetSchedule(ctx, r.workspace.db, watchtask.Kind, nightly, watch.Spec{Targets: everyone(), Action: watch.Start}, everyNight,
		taskkit.WithSchema(r.workspace.schema), taskkit.WithQueue(r.workspace.queue))
	if err != nil {
		return fmt.Errorf("set the schedule %s: %w", nightly, err)
	}
	s, err := taskops.New(r.client).Schedule(ctx, nightly)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "\nschedule   %s (%s, %s) fires next at\n", s.Name, s.Cron, s.Zone)
	for _, f := range s.Fires {
		fmt.Fprintf(r.Out, "           %s\n", f.Wall)
	}
	return nil
}
