// Package vitals reads what a database says about itself: the settings that the promise of taskkit depends on, and what
// keeps a server from working well. Its functions change nothing, lock nothing, and read catalogs and statistics only. They
// run in the caller's transaction, which bounds their time.
package vitals
