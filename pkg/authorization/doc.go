// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authorization asks the kube-apiserver whether a request is allowed, by SubjectAccessReview, with upstream's
// webhook authorizer, its cache and its retries, but with a client and a question of our own: upstream's
// DelegatingAuthorizationOptions let 200 reviews pass a second and cache each answer by object name, so that a tenant
// with many writes is served 200 of them a second.
//
// It promises: (1) a request that names its object, or selects objects, is first asked about without name and
// selectors, the rest of it kept, and only where that is not allowed is it asked about as it is. Under RBAC this is
// exact: a rule without resourceNames covers every name, one with resourceNames covers no request without a name, and
// RBAC has no rule that denies, so allowed-without-name is allowed-for-every-name. The exception are authorizers of the
// kube-apiserver that can deny (a webhook of its AuthorizationConfiguration, or another that refuses one name of what
// it allows in general, as the Node authorizer does for kubelets): Config.AskByName asks about each request as it is.
// A request through the aggregator was authorized by name there already; one straight to our port was not. (2)
// It fails closed: an error, a timeout, an answer that both allows and denies is never an Allow and is not asked a
// second time in another form; the generic server answers 500 (attack 46). (3) No answer outlives the cache TTLs. (4)
// Reviews are not limited here: requests are, by priority and fairness, and each costs two reviews at most. (5) As
// with upstream's options, group system:masters is allowed everything and the health paths are open to all; neither
// is asked about. (6) What Config.InEveryNamespace picks is asked about without its namespace: a Role there does not
// give it, however wide it is.
//
// It does not authenticate users, and does not know what a verb does, or the rules of any cluster.
//
// Read authorizer.go first, then options.go.
package authorization
