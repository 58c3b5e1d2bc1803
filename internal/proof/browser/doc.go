// Package browser has tests of the dashboard in a real browser: every page in light and dark, narrow and wide, with and without
// JavaScript, and what a person does on them, step by step.
//
// The browser is the chromium in the PATH or, on Debian, a package that is unpacked into the user's cache and not installed. axe-core,
// which finds what people with disabilities cannot use, comes from npm. Where they cannot be had, the tests are skipped.
package browser
