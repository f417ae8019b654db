// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns is a back end of the webhook server that writes by a provider of external-dns: one in its tree,
// served by external-dns --webhook-server, or a webhook provider of its own.
//
// It promises: (1) what is answered as done is what the provider listed afterwards: providers skip what they do not
// take, and answer with success; (2) the provider gets one request at a time, as from external-dns, and its answers are
// bounded; (3) what the provider lists in another form than that of an RRset, such as one with a set identifier or an
// alias, stays untouched; (4) a record that the provider does not take costs the others nothing but time; (5) what
// external-dns has no form for is refused with the reason.
//
// It does not know which zones there are, nor what kept others from being written: the provider says neither.
//
// Read backend.go, then endpoint.go.
package externaldns
