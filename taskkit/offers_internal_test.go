package taskkit

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/store"
)

// offers are the places where somebody who writes no Go submits a task: the file that makes its options, and the options
// that the place does not offer. What a schedule refuses is not listed for a schedule.
var offers = []struct{ where, file, not string }{
	// The service gives these in Before, by what its spec says.
	{"HTTP start", "taskhttp/start.go", `System WithNotBefore WithDelay WithPriority WithQueue WithUniqueKey WithCoalescing WithVersion WithPredecessor WithTraceparent
		WithTotal WithoutNotify WithReason WithParent WithChildFailure WithMaxParallel WithStopAfter WithStrategy WithPolicies WithNotifications WithCanary WithApproval WithWindow WithLatestStart
		WithDeadline WithTimeLimit WithMaxRate WithLimit WithMaxChanges WithDryRun WithTargets WithSample WithRetention WithLogger WithObserver WithStage SubmitOptions`},
	// The client's schema counts, and without an owner it is a task of the system.
	{"HTTP schedules", "taskhttp/schedules.go", "System WithSchema WithRetention"},
	{"CLI schedules", "../cmd/taskkit/internal/command/schedules.go", "WithSchema WithRetention"},
	// A task that continues, retries or applies another has the other's owner, queue and conditions.
	{"CLI follow", "../cmd/taskkit/internal/command/follow.go", `OwnedBy System RunAs WithNotBefore WithDelay WithPriority WithQueue WithUniqueKey WithIdempotencyKey
		WithCoalescing WithVersion WithPredecessor WithTraceparent WithTotal WithoutNotify WithSchema WithParent WithChildFailure WithMaxParallel WithStopAfter WithStrategy WithPolicies WithNotifications WithCanary
		WithApproval WithWindow WithLatestStart WithDeadline WithTimeLimit WithMaxRate WithLimit WithPreview WithMaxChanges WithDryRun WithTargets WithSample WithSubmitted WithRetention WithLogger WithObserver WithStage SubmitOptions`},
}

// TestEveryOptionOffered: each place passes an option of Submit, or the list says that it does not.
func TestEveryOptionOffered(t *testing.T) {
	t.Parallel()
	for _, o := range offers {
		passed := calls(parsed(t, o.file)[0])
		not := strings.Fields(o.not)
		for name, option := range everyOption {
			if strings.HasSuffix(o.where, "schedules") {
				sub := &submission{NewTask: store.NewTask{Total: -1, Options: new(store.Options)}}
				if option.applySubmit(sub); sub.checkSchedule() != nil {
					continue
				}
			}
			if listed := slices.Contains(not, name); passed[name] == listed {
				t.Errorf("%s: %s is passed by %s: %t, and in offers as not offered: %t: pass it, or list it", o.where, name, o.file, passed[name], listed)
			}
		}
	}
}

// calls returns the functions of this package that a file calls.
func calls(f *ast.File) map[string]bool {
	names := make(map[string]bool)
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok {
				if p, ok := s.X.(*ast.Ident); ok && p.Name == "taskkit" {
					names[s.Sel.Name] = true
				}
			}
		}
		return true
	})
	return names
}
