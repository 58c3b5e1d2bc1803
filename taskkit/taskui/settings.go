package taskui

import (
	"net/http"
	"strconv"
	"strings"

	"taskkit.dev/taskkit"
)

// changeFields are the inputs of the settings that a running task takes.
func changeFields(t *taskkit.Task, _ error) []field {
	fields := []field{
		{Name: "priority", Label: "Priority", Kind: "number", Help: "1 is claimed first, 4 last. Now " + strconv.Itoa(int(t.Priority)) + "."},
		{Name: "rate", Label: "Items a second at most", Help: "0 removes the bound."},
		{Name: "stopafter", Label: "Pause after so many failed items", Help: `A number such as 100, or a share such as 5%.`},
	}
	if t.Children != nil {
		fields[1] = field{Name: "parallel", Label: "Parts at once", Kind: "number", Help: "How many buckets or ranges are open at once."}
	}
	return fields
}

// change makes the request Change with the settings of a form.
func change(r *request, t *taskkit.Task, reason string) (taskkit.ID, error) {
	var s taskkit.Settings
	if text := r.input("priority"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return t.ID, notNumber("priority", text)
		}
		s.Priority = taskkit.Priority(n)
	}
	if text := r.input("rate"); text != "" {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return t.ID, notNumber("rate", text)
		}
		s.MaxRate = &rate
	}
	if text := r.input("parallel"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return t.ID, notNumber("number of parts", text)
		}
		s.MaxParallel = n
	}
	s.StopAfter = r.input("stopafter")
	if s == (taskkit.Settings{}) {
		return t.ID, &problem{status: http.StatusUnprocessableEntity, title: "No setting was given", remedy: "Go back and fill in at least one."}
	}
	_, err := r.d.client.Change(r.Context(), t.ID, s, r.audit(reason)...)
	return t.ID, err
}

// input returns what a person has written into a field.
func (r *request) input(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }

func notNumber(what, text string) error {
	if len(text) > 40 {
		text = text[:40]
	}
	return &problem{status: http.StatusUnprocessableEntity, title: "A value cannot be used", detail: "The " + what + " " + strconv.Quote(text) + " is not a number.", remedy: "Go back and correct it."}
}

// resumeFields are the inputs of a task that has reached its limit of failed items.
func resumeFields(_ *taskkit.Task, refused error) []field {
	if !reachedLimit(refused) {
		return nil
	}
	return []field{{Name: "stopafter", Label: "New limit of failed items", Help: "It has reached its limit: give a higher one, a number such as 100 or a share such as 5%."}}
}

// resume makes the request Resume, with a new limit if one is given.
func resume(r *request, t *taskkit.Task, reason string) (taskkit.ID, error) {
	opts := r.audit(reason)
	if limit := r.input("stopafter"); limit != "" {
		opts = append(opts, taskkit.WithStopAfter(limit))
	}
	_, err := r.d.client.Resume(r.Context(), t.ID, opts...)
	return t.ID, err
}

// retryFields are the inputs of a task that has failed.
func retryFields(t *taskkit.Task, _ error) []field {
	if t.Status != taskkit.StatusError {
		return nil
	}
	return []field{{Name: "skip", Label: "Record the next item as failed and continue after it", Kind: "checkbox", Value: "yes"}}
}

// retry makes the request Retry.
func retry(r *request, t *taskkit.Task, reason string) (taskkit.ID, error) {
	opts := r.audit(reason)
	if r.input("skip") == "yes" {
		opts = append(opts, taskkit.WithSkip())
	}
	_, err := r.d.client.Retry(r.Context(), t.ID, opts...)
	return t.ID, err
}
