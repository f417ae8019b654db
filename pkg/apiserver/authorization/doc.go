// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorization asks kube-apiserver, by SubjectAccessReviews, whether a request is allowed. Options.ApplyTo
// sets this authorizer in an API server.
//
// Upstream's webhook authorizer sends, caches and retries the reviews. Upstream's options allow 200 reviews a second,
// cached by object name. This package therefore has its own client, and first asks about all names at once. The client
// has no rate limit, because priority and fairness limits the requests.
//
// Guarantees:
//
//  1. A request with a name or selectors is first reviewed without them, and as it is only if this review does not
//     allow it. Under RBAC the result is the same, because no rule denies. For other authorizers, such as Node, set
//     Config.AskByName.
//  2. An error, a timeout, or an answer that both allows and denies is never an Allow, nor retried in another form.
//  3. No answer outlives the cache TTLs.
//  4. A request needs at most two reviews.
//  5. The group system:masters and the health paths need no review.
//  6. Requests in Config.InEveryNamespace are reviewed without namespace.
//
// Read authorizer.go first, then options.go.
package authorization
