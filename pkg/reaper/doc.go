// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reaper removes the objects of namespaces that are gone. kube-controller-manager empties a namespace
// that is deleted while we serve; what was left by one that was deleted while we did not would stay for ever.
//
// It promises (S8.3, each a brake, since what it does wrong is DNS that is gone):
//
//	R1. Only two live 404s about the namespace, ten minutes apart, make it gone. Any other answer between them starts
//	    the ten minutes over, as does a restart; a 404 of something that is not a kube-apiserver is no answer.
//	R2. Nothing is removed while the cluster is not the one that the store belongs to, by kube-system's UID, or cannot
//	    be asked for that; nor while the list of namespaces is not there, is empty or has no kube-system in it.
//	R3. All replicas together begin with one namespace at a time, so that at most 5 % of those with objects here go
//	    in an hour: of 100 one each 12 minutes.
//	R4. Each object is removed one after the other, by its UID, through the API: admission, the ledger, finalizers and
//	    deletionProtection (S8.1) hold as for every client. If the namespace is back meanwhile, what is left stays.
//	R5. A namespace that was made anew under the same name is not gone, and has the objects of the former one.
//
// It does not know where the store is, which server serves, or how an object is removed from a zone: it reads
// namespaces from the kube-apiserver, deletes through a client of our own API, and declares what it asks of the store
// (Store).
//
// Read reaper.go first, then empty.go.
package reaper
