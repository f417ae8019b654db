// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorization authorizes requests by SubjectAccessReviews at kube-apiserver, with upstream's webhook
// authorizer, cache and retries. Upstream's options allow 200 reviews a second, cached by object name; hence a separate
// client and broader reviews.
//
// Guarantees: (1) A request for named or selected objects is first reviewed without name and selectors, and only if not
// allowed, as it is. This is exact under RBAC, where no rule denies; for other authorizers, such as Node, use
// Config.AskByName. (2) An error, a timeout, or an answer that both allows and denies is never an Allow, nor retried in
// another form (attack 46). (3) No answer outlives the cache TTLs. (4) The rate of reviews, at most two for a request,
// is not limited: priority and fairness limits requests. (5) Group system:masters and the health paths need no review.
// (6) Requests in Config.InEveryNamespace are reviewed without namespace.
//
// Read authorizer.go first, then options.go.
package authorization
