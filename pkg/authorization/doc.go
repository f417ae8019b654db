// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorization authorizes requests by SubjectAccessReviews at kube-apiserver, with upstream's webhook
// authorizer, cache and retries. Upstream's options allow 200 reviews a second, cached by object name, so this package
// has its own client and asks broader questions.
//
// Guarantees:
//
//  1. A request for named or selected objects is first reviewed without name and selectors. Only if this is not
//     allowed, the request is reviewed as it is. This is exact under RBAC, where no rule denies. For other authorizers,
//     such as Node, use Config.AskByName.
//  2. An error, a timeout, or an answer that both allows and denies is never an Allow, nor retried in another form.
//  3. No answer outlives the cache TTLs.
//  4. Reviews, at most two for a request, have no rate limit, because priority and fairness limits requests.
//  5. The group system:masters and the health paths need no review.
//  6. Requests in Config.InEveryNamespace are reviewed without namespace.
//
// Read authorizer.go first, then options.go.
package authorization
