package tasknotify

import "time"

// SetWithin bounds a try, in place of ten seconds.
func (w *Webhook) SetWithin(d time.Duration) { w.within = d }
