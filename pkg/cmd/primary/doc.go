// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package primary is the sub-command that runs the hidden primary by itself, apart from the API server: zones come over
// the API, and secondaries transfer them.
//
// It promises:
//
//  1. It answers no question and sends no NOTIFY before it has every zone and every class: a secondary that asks too
//     early would be told that a zone is not there.
//  2. With --service it sends no NOTIFY before its Service leads to it: a secondary queries at once after a NOTIFY.
//  3. It serves its last zones while the API does not answer.
//  4. After SIGTERM it is not ready, finishes running transfers, and then stops to serve its zones.
//  5. /livez answers while the process runs, /readyz is 200 while it serves and else lists the missing conditions; both
//     need no credentials. /metrics has no names of zones in it.
//
// It knows neither what a zone means nor how DNS is spoken: it puts the feed, the classes and the primary together.
//
// Read run.go first, then options.go for the flags.
package primary
