// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serving makes, keeps and renews the certificate an aggregated API server serves with, and tells
// kube-apiserver which authorities to trust for it: a certificate authority and a leaf in one Secret, the authorities
// to trust in the APIService's caBundle.
//
// It promises:
//
//	C1. All replicas serve the leaf of the Secret: a replica that writes it compares the resourceVersion; one that
//	    loses takes over what the winner wrote.
//	C2. A leaf of an authority that kube-apiserver did not trust so far is served once caBundle has named that
//	    authority for a while; until then the leaf before it is, and both authorities stand in caBundle.
//	C3. caBundle is never put back to an older state of the Secret, whatever replicas race.
//	C4. A leaf and an authority are renewed when two thirds of their life are over. A Secret that was deleted is
//	    made anew, with a new authority.
//	C5. A Secret that cannot be read is left as it is, and the error names the key; the certificate served before
//	    is served on.
//	C6. caBundle is the only field of the APIService that is written. The APIService is neither created nor
//	    deleted here: the manifests own it.
//
// It does not know the clients: pkg/apiserver authenticates them. It does not know cert-manager either, whose
// certificates come as files and whose cainjector writes caBundle.
//
// Read provider.go first, then material.go.
package serving
