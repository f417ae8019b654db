// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan makes what a provider is asked to carry out: the plans that lead from the state of a delivery to what a
// zone contains, and the plan that takes away what a provider has.
//
// It promises: (1) A plan without changes is of the whole zone; one with changes names all that differs, or says what
// is not known (Plan.Forgotten). (2) After something was written in part, what may stand there and shall not is named,
// as far as the history of the zone reaches back.
//
// It reads zones and their history and writes nothing. It knows neither what a process remembers of a delivery nor
// when one is tried: it imports delivery, and of the other rooms none.
//
// Read Source and MakePlans in plan.go.
package plan
