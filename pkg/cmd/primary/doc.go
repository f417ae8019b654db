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
//  3. It goes on with what it has while the API does not answer.
//  4. When it is told to stop it is not ready from then on, lets transfers end, and only then ends its zones.
//  5. /livez says that the process runs, /readyz that it serves, or what is missing; both need no credentials. /metrics
//     has no names of zones in it.
//
// It knows neither what a zone means nor how DNS is spoken: it puts the feed, the classes and the primary together.
//
// Read run.go first, then options.go for the flags.
package primary
