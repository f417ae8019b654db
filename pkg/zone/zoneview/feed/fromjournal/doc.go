// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromjournal keeps the API server's copies of all zones (a zoneview.Set) up to date. It first reads every zone
// from etcd at a single revision, and then follows the journal, whose transactions contain steps, the changes of
// a zone from one serial to the next.
//
// Guarantees:
//
//  1. If a step does not continue the copy, every zone is read again. A zone whose steps never fit, or whose content
//     does not match the hash, is frozen: the last proven content is served.
//  2. Frozen zones are read again after a minute, then at growing intervals of up to an hour.
package fromjournal
