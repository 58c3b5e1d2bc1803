package taskhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path/filepath"
	"time"

	"taskkit.dev/taskkit"
)

// ResultFile is a file that is sent in place of a result.
type ResultFile struct {
	// Name is what the client's copy is called; of a path the last element is sent. Defaults to
	// the id of the job.
	Name string
	// MediaType defaults to that of the name's extension, or application/octet-stream.
	MediaType string
	// Modified is when the file was last changed; the zero time is unknown. A download that is
	// continued begins anew when it is another.
	Modified time.Time
	// Content is the file, which the server closes. Required.
	Content io.ReadSeekCloser
}

// FileResults makes a fetch of the jobs of a kind return a file, in ranges if the client wants them,
// and not the result as JSON. Open opens the file of a result for a caller who may fetch it. An error
// that is fs.ErrNotExist says that the file has been removed, and is answered with [ErrExpired];
// an *[Error] with a status from 400 to 499 is sent as it is, and others are logged and not sent. What
// becomes of the file when the result is erased is for the service. Open must be safe for concurrent use.
//
// It panics when the kind has file results already.
func FileResults[Spec, State, Result any](s *Server, k *taskkit.Kind[Spec, State, Result], open func(ctx context.Context, c Caller, result Result) (*ResultFile, error)) {
	if open == nil {
		panic("taskhttp: FileResults needs a function that opens the file of a result")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[k.Name()] != nil {
		panic(fmt.Sprintf("taskhttp: kind %s has file results already", k.Name()))
	}
	s.files[k.Name()] = func(r *http.Request, who Caller, id taskkit.ID) (*ResultFile, error) {
		result, err := readResult(r, s.client, k, id)
		if err != nil {
			return nil, err
		}
		return open(r.Context(), who, result)
	}
}

// openFile opens the file of the result of a job.
type openFile func(r *http.Request, who Caller, id taskkit.ID) (*ResultFile, error)

// readResult reads a result. Only a GET counts as a fetch.
func readResult[Spec, State, Result any](r *http.Request, c *taskkit.Client, k *taskkit.Kind[Spec, State, Result], id taskkit.ID) (Result, error) {
	if r.Method != http.MethodHead {
		return taskkit.Fetch(r.Context(), c, k, id)
	}
	t, err := taskkit.Get(r.Context(), c, k, id)
	switch {
	case err != nil:
		return *new(Result), err
	case t.Result == nil:
		return *new(Result), taskkit.ErrNoResult
	}
	return *t.Result, nil
}

// file returns how the files of a kind are opened; nil: its results are no files.
func (s *Server) file(kind string) openFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[kind]
}

// sendFile sends the file of the result of a job, or the part of it that the request names.
func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, who Caller, j *Job, open openFile) error {
	f, err := open(r, who, j.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrExpired.because("the file of the result has been removed").of(j)
	case err != nil:
		return s.refusedFile(r, err)
	}
	defer f.Content.Close()
	name := j.ID.String()
	if f.Name != "" {
		name = filepath.Base(filepath.ToSlash(f.Name))
	}
	h := w.Header()
	h.Set("Content-Type", cmp.Or(f.MediaType, mime.TypeByExtension(filepath.Ext(name)), "application/octet-stream"))
	h.Set("Content-Disposition", cmp.Or(mime.FormatMediaType("attachment", map[string]string{"filename": name}), "attachment"))
	h.Set("ETag", `"`+digest(j.ID, name, f.Modified.UnixNano())+`"`)
	// Conditions of changes have no meaning for a fetch.
	r = r.Clone(r.Context())
	r.Header.Del("If-Match")
	r.Header.Del("If-Unmodified-Since")
	out := &fileWriter{ResponseWriter: w, control: http.NewResponseController(w)}
	http.ServeContent(out, r, "", f.Modified, f.Content)
	if out.failed == 0 {
		return nil
	}
	for _, name := range []string{"Content-Disposition", "ETag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store") // which http.ServeContent removes
	if out.failed == http.StatusRequestedRangeNotSatisfiable {
		return ErrRange.of(j)
	}
	return s.incident(r, ErrInternal, fmt.Errorf("taskhttp: the file of a result cannot be sent: %d %s", out.failed, out.why))
}

// refusedFile is why a file cannot be sent.
func (s *Server) refusedFile(r *http.Request, err error) error {
	if p, ok := errors.AsType[*Error](err); ok && (p.Status < 400 || p.Status >= 500) {
		return s.incident(r, ErrInternal, err)
	}
	return err
}

// fileWriter sends what http.ServeContent writes of a file, each part of it by a deadline of its own,
// and keeps what it writes about a failure, since that is no problem document.
type fileWriter struct {
	http.ResponseWriter

	control *http.ResponseController
	failed  int // the status of a failure
	why     []byte
}

// WriteHeader implements http.ResponseWriter.
func (w *fileWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.failed = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *fileWriter) Write(b []byte) (int, error) {
	if w.failed != 0 {
		w.why = append(w.why, b...)
		return len(b), nil
	}
	// The timeouts of the server are for answers that are short. A writer that has no deadlines
	// needs none.
	_ = w.control.SetWriteDeadline(time.Now().Add(answerTime))
	return w.ResponseWriter.Write(b)
}
