package browser_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"

	"taskkit.dev/taskkit"
)

var update = flag.Bool("update", false, "write the screenshots of the documentation")

// maxScreenshot bounds a screenshot, in bytes: the documentation loads quickly.
const maxScreenshot = 200_000

// The documentation has a screenshot of a task that runs, in light and dark. This writes them:
//
//	go test ./internal/proof/browser -run 'TestScreenshots$' -update
func TestScreenshots(t *testing.T) {
	t.Parallel()
	images := map[string]appearance{"dashboard-light.png": {width: 1100, script: true}, "dashboard-dark.png": {width: 1100, script: true, dark: true}}
	path := func(name string) string { return filepath.Join("..", "..", "..", "docs", "images", name) }
	if *update {
		s := newSite(t, migrated(t), kinds())
		kill := s.launch(t, workerArgs{SystemID: "worker-1", HoldAt: 6300})
		id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(9558), Program: "chess"}, taskkit.WithReason("the new term begins"))
		s.until(t, "the task runs", func() bool {
			task, err := s.client.Task(context.WithoutCancel(t.Context()), id)
			return err == nil && task.Progress.Processed() >= 6200
		})
		for name, l := range images {
			tab := s.tab(t, l)
			tab.open(prefix + "task/" + id.String())
			tab.see("of 9,558 items")
			image := call(tab, page.CaptureScreenshot, page.CaptureScreenshotParams{})
			if err := os.MkdirAll(filepath.Dir(path(name)), 0o755); err != nil { //nolint:gosec // it is a directory of the repository
				t.Fatal(err)
			}
			if err := os.WriteFile(path(name), image.Data, 0o644); err != nil { //nolint:gosec // it is a file of the repository
				t.Fatal(err)
			}
		}
		kill()
	}
	for name := range images {
		info, err := os.Stat(path(name))
		if err != nil || info.Size() > maxScreenshot {
			t.Errorf("%s: %v, %v: run this test with -update", path(name), info, err)
		}
	}
}
