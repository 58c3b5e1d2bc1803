package taskhttp

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// Settings are what [Client.Change] changes of a job. A zero field leaves what there is.
type Settings struct {
	// Priority is from [taskkit.PriorityHigh], which is 1, to [taskkit.PriorityIdle], which is 4.
	Priority taskkit.Priority `json:"priority,omitempty"`
	// MaxParallel is how many buckets of the job are open at once.
	MaxParallel int `json:"maxParallel,omitempty"`
	// MaxRate is how many items a second the job processes at most, from 0.001 to
	// 1,000,000; 0 removes the bound, and nil leaves it.
	MaxRate *float64 `json:"maxRate,omitempty"`
	// StopAfter is the stop policy, see [taskkit.WithStopAfter]. A job that has reached it is paused; after a higher one is
	// set it can be resumed.
	StopAfter string `json:"stopAfter,omitempty"`
	// Reason is why, for those who read the task's events. It changes nothing by itself.
	Reason string `json:"reason,omitempty"`
}

// mostParallel bounds MaxParallel.
const mostParallel = 1_000_000

// setting is an integer of a body, or missing.
type setting struct {
	given bool
	value int64
}

// UnmarshalJSON refuses what is no integer, and null.
func (s *setting) UnmarshalJSON(raw []byte) (err error) {
	s.given = true
	if s.value, err = strconv.ParseInt(string(raw), 10, 64); err != nil {
		return fmt.Errorf("want an integer: %w", err)
	}
	return nil
}

// rate is a number of a body, or missing.
type rate struct{ value *float64 }

// UnmarshalJSON refuses what is no number, and null.
func (x *rate) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return fmt.Errorf("want a number: %w", err)
	}
	x.value = &v
	return nil
}

// settingsBody is the body of a request that changes the settings of a job.
type settingsBody struct {
	Priority    setting `json:"priority"`
	MaxParallel setting `json:"maxParallel"`
	MaxRate     rate    `json:"maxRate"`
	StopAfter   string  `json:"stopAfter"`
	Reason      string  `json:"reason"`
}

// Bounds of the settings, as package taskkit has them.
const (
	lowestRate, highestRate = 0.001, 1e6
)

// stopAfterForm matches a stop policy.
var stopAfterForm = regexp.MustCompile(`^([1-9][0-9]{0,17}|([1-9][0-9]?(\.[0-9]{1,2})?|100(\.0{1,2})?)%)$`)

var settingsCodec = taskjson.Reflected[settingsBody]()

// settings reads the body of a request that changes the settings of a job.
func (s *Server) settings(w http.ResponseWriter, r *http.Request) (out Settings, err error) {
	raw, err := s.body(w, r, false, settingsCodec.Check)
	if err != nil {
		return out, err
	}
	var b settingsBody
	if err := settingsCodec.Decode(raw, &b); err != nil {
		return out, refusedJSON(ErrNotJSON, err)
	}
	if !b.Priority.given && !b.MaxParallel.given && b.MaxRate.value == nil && b.StopAfter == "" {
		return out, ErrBadParameter.because("the body changes nothing; there are: priority, maxParallel, maxRate, stopAfter")
	}
	if b.StopAfter != "" && !stopAfterForm.MatchString(b.StopAfter) {
		return out, ErrBadParameter.because("stopAfter must be a number of failed items, such as 100, or a share of the processed ones from 1%% to 100%%, such as 5%%")
	}
	for _, c := range []struct {
		setting
		name     string
		from, to int64
	}{
		{b.Priority, "priority", int64(taskkit.PriorityHigh), int64(taskkit.PriorityIdle)},
		{b.MaxParallel, "maxParallel", 1, mostParallel},
	} {
		if c.given && (c.value < c.from || c.value > c.to) {
			return out, ErrBadParameter.because("%s must be from %d to %d", c.name, c.from, c.to)
		}
	}
	if r := b.MaxRate.value; r != nil && *r != 0 && (*r < lowestRate || *r > highestRate) {
		return out, ErrBadParameter.because("maxRate must be from %g to %.0f items a second, or 0 to remove the bound; to hold the job, pause it", lowestRate, highestRate)
	}
	if err := checkReason(b.Reason); err != nil {
		return out, err
	}
	return Settings{taskkit.Priority(b.Priority.value), int(b.MaxParallel.value), b.MaxRate.value, b.StopAfter, b.Reason}, nil
}

// set changes the settings of a job.
func (s *Server) set(w http.ResponseWriter, r *http.Request, who Caller) error {
	t, err := s.task(r, who, OpChange)
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	c, err := s.settings(w, r)
	if err != nil {
		return err
	}
	j := s.job(r.Context(), who, t, 0)
	if err := meets(r, j.Revision); err != nil {
		return err
	}
	if !j.open() {
		return ErrNotPossible.because("the settings of a job that is %s cannot be changed", j.Status).of(j)
	}
	opts := []taskkit.RequestOption{taskkit.WithActor(who.Owner)}
	if c.Reason != "" {
		opts = append(opts, taskkit.WithReason(c.Reason))
	}
	if c.MaxParallel != 0 && (c.MaxRate != nil || c.StopAfter != "") {
		return ErrNotPossible.because("maxParallel is for jobs with buckets, and maxRate and stopAfter for those without, so no job has both").of(j)
	}
	changed, err := s.client.Change(r.Context(), t.ID, taskkit.Settings{Priority: c.Priority, MaxParallel: c.MaxParallel, MaxRate: c.MaxRate, StopAfter: c.StopAfter}, opts...)
	if _, ok := errors.AsType[*taskkit.OptionError](err); ok {
		if t, err = s.task(r, who, OpChange); err != nil { // it may have ended meanwhile
			return err
		}
		if j = s.job(r.Context(), who, t, 0); !j.open() {
			return ErrNotPossible.because("the settings of a job that is %s cannot be changed", j.Status).of(j)
		}
		if c.MaxParallel == 0 && c.StopAfter != "" && c.MaxRate == nil {
			return ErrNotPossible.because("the job is a bucket or a range, whose failed items count for the job that was divided: change the limit of that job").of(j)
		}
		if c.MaxRate != nil {
			return ErrNotPossible.because("the job has buckets, which process its items: change maxParallel").of(j)
		}
		return ErrNotPossible.because("the job has no buckets, so maxParallel means nothing").of(j)
	}
	if err != nil {
		return s.unchanged(r, who, t, OpChange, err)
	}
	s.answer(w, http.StatusOK, s.changedJob(r.Context(), who, t, changed))
	return nil
}
