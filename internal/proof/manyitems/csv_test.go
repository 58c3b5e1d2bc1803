package manyitems_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit"
)

// corrected are the people of whom the file names another: a hundred of each thousand.
const corrected = "id % 1000 < 100"

// All items of a task fail. The command taskkit items writes their file, and taskkit
// retry-failed takes it back when a tenth of it was corrected: the new task processes
// the other people. Corrected items do not ascend.
func TestFileOfFailedItems(t *testing.T) {
	t.Parallel()
	command := filepath.Join(t.TempDir(), "taskkit")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", command, "./cmd/taskkit")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	onEach(t, "items-csv", func(t *testing.T, open opener, n int64, _ bool) figures {
		e := newEnv(t, open, 2*n, fmt.Sprintf("CASE WHEN id <= %d THEN 'ill' ELSE 'well' END", n))
		e.launch()
		f := make(figures)
		id := e.submit(n, peopleSpec{}).ID
		task, took := e.ended(id, nil)
		f.time("run", took)
		if task.Status != taskkit.StatusCompleted || task.Progress.Failed != n {
			t.Fatalf("ended in %s (%s) with %+v, want %d failed items", task.Status, task.StatusDetail, task.Progress, n)
		}

		failed := filepath.Join(t.TempDir(), "failed.csv")
		e.command(f, failed, command, "items", id.String(), "--failed", "-o", "csv")
		edited := filepath.Join(t.TempDir(), "corrected.csv")
		f["size of the file, MB"] = e.correct(failed, edited, n)
		e.command(f, filepath.Join(t.TempDir(), "output"), command, "retry-failed", id.String(), "--corrected", edited)

		retries, _, err := e.client.Tasks(e.Context(), taskkit.Filter{Follows: id})
		if err != nil || len(retries) != 1 {
			t.Fatalf("%d tasks retry %s (%v), want 1", len(retries), id, err)
		}
		retry := retries[0].ID
		task, took = e.ended(retry, nil)
		f.time("run the retry", took)
		f["peak of the worker, MB"] = e.peaks()
		if task.Status != taskkit.StatusCompleted || task.Progress.Total != n || task.Progress.Done != n/10 || task.Progress.Failed != n-n/10 {
			t.Errorf("the retry ended in %s (%s) with %+v, want %d of %d corrected", task.Status, task.StatusDetail, task.Progress, n/10, n)
		}
		wrong := e.number("SELECT count(*) FROM person WHERE changed <> CASE WHEN health = 'well' AND " + corrected + " THEN 1 ELSE 0 END")
		if wrong > 0 {
			t.Errorf("%d people were changed and should not have been, or the other way round", wrong)
		}
		at := int64(0)
		for i, err := range e.client.Items(e.Context(), retry, taskkit.OutcomeFailed) {
			if err != nil {
				t.Fatal(err)
			}
			if at++; at%1000 < 100 {
				at += 100 - at%1000
			}
			if string(i.Key) != fmt.Sprint(at) || i.Position != at {
				t.Fatalf("the failed item %s at %d, want %d", i.Key, i.Position, at)
			}
		}
		f["violations"] = float64(wrong)
		return f
	})
}

// command runs the command with its output in a file, and measures its memory and time.
func (e *env) command(f figures, file, command string, args ...string) {
	e.Helper()
	what := "taskkit " + args[0]
	args = append(args, "-d", e.args.DSN)
	if e.db.Schema != "" {
		args = append(args, "--schema", e.db.Schema)
	}
	out, err := os.Create(file)
	if err != nil {
		e.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(e.Context(), command, args...)
	cmd.Env = append(os.Environ(), "GOGC=") // its memory is measured
	cmd.Stdout, cmd.Stderr = out, e.Output()
	began := time.Now()
	if err := cmd.Start(); err != nil {
		e.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	// The kernel forgets the peak with the process, so that it is read meanwhile.
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	peak := 0.0
	for {
		select {
		case <-tick.C:
			peak = max(peak, peakMB(cmd.Process.Pid))
			continue
		case err = <-done:
		}
		break
	}
	if err != nil {
		e.Fatalf("%s: %v", what, err)
	}
	f.time(what, time.Since(began))
	f["peak of "+what+", MB"] = peak
}

// correct fills the last column of a file of n items for a tenth of them, and returns
// the size of the file in MB.
func (e *env) correct(from, to string, n int64) float64 {
	e.Helper()
	in, err := os.Open(from)
	if err != nil {
		e.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		e.Fatal(err)
	}
	defer out.Close()
	w, lines, size := bufio.NewWriter(out), int64(-1), 0
	for r := bufio.NewReader(in); ; lines++ {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			e.Fatal(err)
		}
		size += len(line)
		if lines >= 0 { // not the header
			var id int64
			if _, err := fmt.Sscanf(line, "%d,failed,ill,", &id); err != nil || id != lines+1 {
				e.Fatalf("line %d of the file is %q", lines+2, line)
			}
			if id%1000 < 100 {
				line = strings.TrimSuffix(line, "\n") + fmt.Sprintln(n+id)
			}
		}
		if _, err := w.WriteString(line); err != nil {
			e.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil || lines != n {
		e.Fatalf("the file has %d items (%v), want %d", lines, err, n)
	}
	return float64(size) / 1e6
}
