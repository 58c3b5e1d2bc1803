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
)

// patience is how long a worker may take to end when it was told to: its drain
// time and some more.
const patience = 15 * time.Second

// crew is the workers, each a process.
type crew struct {
	place   *place
	mail    string
	slots   int
	members []*member
	number  int
	// held gets what workers say, ended who ends. Both are read while the
	// demonstration is followed; a worker never waits for them.
	held  chan heldBatch
	ended chan *member
}

// member is a worker process.
type member struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed when the process is gone; err is set before
	err   error
}

// heldBatch is what a worker says when it holds a batch.
type heldBatch struct {
	*member
	task         string
	dealt, total int64
}

func newCrew(p *place, mail string, workers int) *crew {
	slots := (actions + workers - 1) / workers // one for each action, spread over the workers
	return &crew{place: p, mail: mail, slots: slots, held: make(chan heldBatch, 64), ended: make(chan *member, 64)}
}

// add starts a worker.
func (c *crew) add(hold bool) (*member, error) {
	c.number++
	m := &member{name: fmt.Sprint("dev", c.number), done: make(chan struct{})}
	if err := c.start(m, hold); err != nil {
		return nil, fmt.Errorf("start worker %s: %w", m.name, err)
	}
	c.members = append(c.members, m)
	return m, nil
}

func (c *crew) start(m *member, hold bool) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	told, err := json.Marshal(orders{
		Name: m.name, Database: c.place.Text(), Schema: c.place.schema, Domain: c.place.domain,
		Queue: c.place.queue, Mail: c.mail, Files: c.place.files(), Slots: c.slots, Hold: hold,
	})
	if err != nil {
		return err
	}
	log, err := os.Create(c.log(m))
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	//nolint:noctx // it is told to end, and only then killed
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
			h := heldBatch{member: m}
			if _, err := fmt.Sscanf(lines.Text(), lineHeld+" %s %d %d", &h.task, &h.dealt, &h.total); err == nil {
				c.held <- h
			}
		}
		m.err = m.cmd.Wait()
		close(m.done)
		c.ended <- m
	}()
	return m.say(string(told))
}

// log is the file with a worker's log.
func (c *crew) log(m *member) string { return filepath.Join(c.place.dir, m.name+".log") }

// say writes a line to a worker.
func (m *member) say(line string) error {
	_, err := io.WriteString(m.stdin, line+"\n")
	return err
}

// kill kills a worker with SIGKILL and waits until it is gone.
func (c *crew) kill(m *member) error {
	if err := m.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill worker %s: %w", m.name, err)
	}
	<-m.done
	c.forget(m)
	return nil
}

func (c *crew) forget(gone *member) {
	var left []*member
	for _, m := range c.members {
		if m != gone {
			left = append(left, m)
		}
	}
	c.members = left
}

// free lets all workers go on and hold nothing any more. One that has died
// meanwhile is reported as such elsewhere.
func (c *crew) free() {
	for _, m := range c.members {
		_ = m.say(lineGo)
	}
}

// has reports whether a worker still belongs to the crew.
func (c *crew) has(m *member) bool {
	return slices.Contains(c.members, m)
}

// mishap is the error of a worker that has ended by itself.
func (c *crew) mishap(m *member) error {
	text := fmt.Sprintf("worker %s has ended by itself (%s)", m.name, m.cmd.ProcessState)
	if log, err := os.ReadFile(c.log(m)); err == nil {
		lines := strings.Split(strings.TrimSpace(string(log)), "\n")
		text += ": " + lines[len(lines)-1]
	}
	return errors.New(text)
}

// stay keeps the workers until ctx ends.
func (c *crew) stay(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-c.ended:
			if c.has(m) {
				return c.mishap(m)
			}
		}
	}
}

// end ends all workers: kindly, and by force those that take too long.
func (c *crew) end() error {
	for _, m := range c.members {
		_ = m.say(lineEnd) // one that is gone needs no word
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var errs []error
	for _, m := range c.members {
		select {
		case <-m.done:
		case <-timer.C:
			timer.Reset(0) // the others have had their time too
			errs = append(errs, fmt.Errorf("worker %s did not end within %v and was killed", m.name, patience), m.cmd.Process.Kill())
			<-m.done
		}
	}
	c.members = nil
	return errors.Join(errs...)
}
