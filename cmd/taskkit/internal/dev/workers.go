package dev

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taskkit.dev/executors/targets"
)

// patience is how long a worker may take to end after it was asked to: a little
// more than its drain time.
const patience = 15 * time.Second

// workerSet is the worker processes of a run.
type workerSet struct {
	workspace *workspace
	mail      string
	slots     int
	bucket    int // about how many people a bucket has
	webhook   *Webhook
	running   []*process
	number    int
	// held receives the batches that workers hold, ended the workers that have
	// ended. follow reads both.
	held  chan heldBatch
	ended chan *process
}

// process is a worker process.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed when the process has ended; err is set before
	err   error
}

// heldBatch is the message of a worker that holds a batch.
type heldBatch struct {
	*process
	task             string
	processed, total int64
}

func newWorkers(p *workspace, mail string, workers, people int) *workerSet {
	slots := (actions + workers - 1) / workers // one for each action, distributed over the workers
	return &workerSet{workspace: p, mail: mail, slots: slots, bucket: bucketSize(people), held: make(chan heldBatch, 64), ended: make(chan *process, 64)}
}

// bucketSize returns about how many people a bucket has: as many as by default, or fewer, so
// that a few people make several buckets too.
func bucketSize(people int) int { return min(max(10, people/16), targets.BucketSize) }

// add starts a worker.
func (c *workerSet) add(hold string) (*process, error) {
	c.number++
	m := &process{name: fmt.Sprint("dev", c.number), done: make(chan struct{})}
	if err := c.start(m, hold); err != nil {
		return nil, fmt.Errorf("start worker %s: %w", m.name, err)
	}
	c.running = append(c.running, m)
	return m, nil
}

func (c *workerSet) start(m *process, hold string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	line, err := json.Marshal(settings{
		Name: m.name, Database: c.workspace.Text(), Schema: c.workspace.schema, Domain: c.workspace.domain,
		Queue: c.workspace.queue, Mail: c.mail, Files: c.workspace.files(), Slots: c.slots, Bucket: c.bucket, Hold: hold, Webhook: c.webhook,
	})
	if err != nil {
		return err
	}
	log, err := os.Create(c.log(m))
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	//nolint:noctx // it is asked to end, and only then killed
	m.cmd = exec.Command(program, WorkerCommand)
	m.cmd.Stderr = log
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := m.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.cmd.Start(); err != nil {
		return err
	}
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			h := heldBatch{process: m}
			if _, err := fmt.Sscanf(lines.Text(), lineHeld+" %s %d %d", &h.task, &h.processed, &h.total); err == nil {
				c.held <- h
			}
		}
		m.err = m.cmd.Wait()
		close(m.done)
		c.ended <- m
	}()
	return m.write(string(line))
}

// log is the file with a worker's log.
func (c *workerSet) log(m *process) string { return filepath.Join(c.workspace.dir, m.name+".log") }

// write writes a line to the standard input of a worker.
func (m *process) write(line string) error {
	_, err := io.WriteString(m.stdin, line+"\n")
	return err
}

// kill kills a worker with SIGKILL and waits until it is gone.
func (c *workerSet) kill(m *process) error {
	if err := m.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill worker %s: %w", m.name, err)
	}
	<-m.done
	c.forget(m)
	return nil
}

// replace kills a worker, by its id, and starts another one.
func (c *workerSet) replace(worker string) error {
	i := slices.IndexFunc(c.running, func(m *process) bool { return strings.HasPrefix(worker, m.name+"-") })
	if i < 0 {
		return fmt.Errorf("no process of this run is the worker %s", worker)
	}
	if err := c.kill(c.running[i]); err != nil {
		return err
	}
	_, err := c.add(holdNothing)
	return err
}

func (c *workerSet) forget(gone *process) {
	var left []*process
	for _, m := range c.running {
		if m != gone {
			left = append(left, m)
		}
	}
	c.running = left
}

// free lets all workers continue and hold no further batches. A worker that has
// died in the meantime is reported through ended.
func (c *workerSet) free() {
	for _, m := range c.running {
		_ = m.write(lineGo)
	}
}

// arm lets all workers hold a batch.
func (c *workerSet) arm(what string) {
	for _, m := range c.running {
		_ = m.write(lineHold + " " + what)
	}
}

// has reports whether a worker has been started and not forgotten.
func (c *workerSet) has(m *process) bool {
	return slices.Contains(c.running, m)
}

// unexpectedEnd is the error for a worker that ended without being asked to.
func (c *workerSet) unexpectedEnd(m *process) error {
	text := fmt.Sprintf("worker %s ended unexpectedly (%s)", m.name, m.cmd.ProcessState)
	if log, err := os.ReadFile(c.log(m)); err == nil {
		lines := strings.Split(strings.TrimSpace(string(log)), "\n")
		text += ": " + lines[len(lines)-1]
	}
	return errors.New(text)
}

// killRequest names a worker to kill by its id, which begins with the name of its process.
type killRequest struct {
	worker string
	done   chan error // with room for the answer
}

// stay waits until ctx ends, and fails when a worker ends before that it has not killed by request.
func (c *workerSet) stay(ctx context.Context, requests <-chan killRequest) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case k := <-requests:
			k.done <- c.replace(k.worker)
		case m := <-c.ended:
			if c.has(m) {
				return c.unexpectedEnd(m)
			}
		}
	}
}

// end asks all workers to end and kills those that take too long.
func (c *workerSet) end() error {
	for _, m := range c.running {
		_ = m.write(lineEnd) // it may have ended already
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var errs []error
	for _, m := range c.running {
		select {
		case <-m.done:
		case <-timer.C:
			timer.Reset(0) // the remaining workers have had the same time
			errs = append(errs, fmt.Errorf("worker %s did not end within %v and was killed", m.name, patience), m.cmd.Process.Kill())
			<-m.done
		}
	}
	c.running = nil
	return errors.Join(errs...)
}
