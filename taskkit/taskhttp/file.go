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
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"taskkit.dev/taskkit"
)

// ResultFile is a file that is sent in place of a result.
type ResultFile struct {
	// Name is what the client's copy is called; of a path the last element is sent. Defaults to
	// the id of the job.
	Name string
	// MediaType defaults to the type of the name's extension, or application/octet-stream.
	MediaType string
	// Modified is when the file was last changed; the zero time is unknown. A download that is
	// continued begins anew when it or the size is another.
	Modified time.Time
	// Content is the file, which the server closes. Required.
	Content io.ReadSeekCloser
}

// FileResults makes a fetch of the jobs of a kind return a file, in ranges if the client wants
// them, and not the result as JSON. A preview writes no files, so its result is JSON.
//
// Open opens the file of a result for a caller who may fetch it. An error that is
// fs.ErrNotExist says that the file has been removed, and is answered with [ErrExpired]; an
// *[Error] with a status from 400 to 499 is sent as it is, and others are logged and not
// sent. Open must be safe for concurrent use. What becomes of the file when the result is erased
// is for the service.
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
	s.files[k.Name()] = func(ctx context.Context, who Caller, id taskkit.ID) (*ResultFile, error) {
		t, err := taskkit.Get(ctx, s.client, k, id)
		switch {
		case err != nil:
			return nil, err
		case t.Result == nil:
			return nil, taskkit.ErrNoResult
		}
		return open(ctx, who, *t.Result)
	}
}

// openFile opens the file of the result of a job.
type openFile func(ctx context.Context, who Caller, id taskkit.ID) (*ResultFile, error)

// file returns how the file of a task's result is opened; nil: its result is no file. That of a preview is none,
// since a preview writes no files.
func (s *Server) file(t *taskkit.Task) openFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Preview {
		return nil
	}
	return s.files[t.Kind]
}

// sendFile sends the file of the result of a job, or the part of it that the request names. It is fetched once
// it is open, and only by a GET.
func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, who Caller, j *Job, open openFile) error {
	f, err := open(r.Context(), who, j.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrExpired.because("the file of the result has been removed").of(j)
	case err != nil:
		return s.refusedFile(r, err)
	}
	defer f.Content.Close()
	control := http.NewResponseController(w)
	in := &fileReader{ReadSeekCloser: f.Content, control: control}
	size, err := in.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = in.Seek(0, io.SeekStart)
	}
	if err != nil {
		return s.incident(r, ErrInternal, fmt.Errorf("taskhttp: find the size of the file of a result: %w", err))
	}
	if r.Method != http.MethodHead {
		if _, err := s.client.FetchJSON(r.Context(), j.ID); err != nil {
			return err
		}
	}
	name := j.ID.String()
	if f.Name != "" {
		name = filepath.Base(filepath.ToSlash(f.Name))
	}
	h := w.Header()
	h.Set("Content-Type", cmp.Or(f.MediaType, mime.TypeByExtension(filepath.Ext(name)), "application/octet-stream"))
	h.Set("Content-Disposition", cmp.Or(mime.FormatMediaType("attachment", map[string]string{"filename": name}), "attachment"))
	h.Set("ETag", `"`+digest(j.ID, name, f.Modified.UnixNano(), size)+`"`)
	// Conditions of changes have no meaning for a fetch.
	r = r.Clone(r.Context())
	r.Header.Del("If-Match")
	r.Header.Del("If-Unmodified-Since")
	if text := r.Header.Get("Range"); rangeForm.MatchString(text) {
		r.Header.Set("Range", strings.ToLower(text)) // net/http knows no others
	} else { // of another unit, or none
		r.Header.Del("Range")
	}
	out := &fileWriter{ResponseWriter: w, control: control}
	http.ServeContent(out, r, "", f.Modified, in)
	if out.failed == 0 {
		s.checkSent(r, out, in)
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

// rangeForm matches a header Range that names bytes. Another one is to be ignored.
var rangeForm = regexp.MustCompile(`^(?i:bytes)=[ \t,]*([0-9]+-[0-9]*|-[0-9]+)([ \t]*,[ \t]*([0-9]+-[0-9]*|-[0-9]+)?)*$`)

// checkSent logs why the rest of a file is missing that was begun. The client notices by the length.
func (s *Server) checkSent(r *http.Request, out *fileWriter, in *fileReader) {
	err := in.failed()
	if want := out.Header().Get("Content-Length"); err == nil && r.Method != http.MethodHead && out.err == nil &&
		out.status != http.StatusNotModified && want != "" && want != strconv.FormatInt(out.sent, 10) {
		err = fmt.Errorf("it has ended after %d of %s bytes", out.sent, want)
	}
	if err != nil {
		_ = s.incident(r, ErrInternal, fmt.Errorf("taskhttp: the file of a result was not sent to its end: %w", err))
	}
}

// refusedFile is why a file cannot be sent.
func (s *Server) refusedFile(r *http.Request, err error) error {
	if p, ok := errors.AsType[*Error](err); ok && (p.Status < 400 || p.Status >= 500) {
		return s.incident(r, ErrInternal, err)
	}
	return err
}

// fileReader reads a file that is being sent. http.ServeContent drops its errors, and may read it on another goroutine,
// where a panic would end the process.
type fileReader struct {
	io.ReadSeekCloser

	control *http.ResponseController

	mu  sync.Mutex // a client that leaves does not wait for the other goroutine
	err error      // the first one, not io.EOF
}

// failed returns the first error.
func (f *fileReader) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Read implements io.Reader.
func (f *fileReader) Read(b []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
		if err != nil && !errors.Is(err, io.EOF) {
			f.mu.Lock()
			f.err = cmp.Or(f.err, err)
			f.mu.Unlock()
		}
	}()
	// The timeouts of the server are for answers that are short, and one that has passed ends a stream of HTTP/2 although
	// nothing is written. A writer that has no deadlines needs none.
	_ = f.control.SetWriteDeadline(time.Now().Add(fileTime))
	return f.ReadSeekCloser.Read(b)
}

// Seek implements io.Seeker.
func (f *fileReader) Seek(offset int64, whence int) (n int64, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return f.ReadSeekCloser.Seek(offset, whence)
}

// fileTime is how long the next part of a file may take to be read and sent.
const fileTime = time.Minute

// fileWriter sends what http.ServeContent writes of a file, and keeps what it writes about a failure, since
// that is no problem document.
type fileWriter struct {
	http.ResponseWriter

	control *http.ResponseController
	status  int
	sent    int64
	err     error // of the connection
	failed  int   // the status of a failure
	why     []byte
}

// WriteHeader implements http.ResponseWriter.
func (w *fileWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.failed = status
		return
	}
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *fileWriter) Write(b []byte) (int, error) {
	if w.failed != 0 {
		w.why = append(w.why, b...)
		return len(b), nil
	}
	_ = w.control.SetWriteDeadline(time.Now().Add(fileTime))
	n, err := w.ResponseWriter.Write(b)
	w.sent += int64(n)
	if err != nil {
		w.err = err
	}
	return n, err
}
