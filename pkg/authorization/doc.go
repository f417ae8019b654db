// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorization authorizes requests by SubjectAccessReviews at kube-apiserver, with upstream's webhook
// authorizer, cache and retries. Upstream's DelegatingAuthorizationOptions pass 200 reviews a second and cache answers
// by object name: a tenant gets 200 writes a second. Hence a separate client and broader reviews.
//
// Guarantees: (1) A request for named or selected objects is first reviewed without name and selectors, and only if not
// allowed, as it is. This is exact under RBAC: a rule without resourceNames covers every name, a rule with
// resourceNames no request without a name, and no rule denies. For authorizers that deny single names (such as the Node
// authorizer) Config.AskByName reviews each request as it is. The aggregator has authorized by name before; direct
// requests have no other check. (2) It fails closed: an error, a timeout, or an answer that both allows and denies is
// never an Allow, nor retried in another form; the generic server answers 500 (attack 46). (3) No answer outlives the
// cache TTLs. (4) The rate of reviews is not limited: priority and fairness limits requests, and a request has two
// reviews at most. (5) As upstream, group system:masters and the health paths need no review. (6) Requests selected by
// Config.InEveryNamespace are reviewed without namespace: no Role suffices.
//
// Out of scope: authentication, and a cluster's rules.
//
// Read authorizer.go first, then options.go.
package authorization
