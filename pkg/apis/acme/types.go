// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package acme

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// GroupName is the API group of the solver.
	GroupName = "acme.kubi.zone"
	// Resource names the solver.
	Resource = "kubizone"
)

// SchemeGroupVersion is the version that cert-manager posts.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// AddToScheme registers the types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &ChallengePayload{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

// ChallengePayload asks a solver to present the response to a DNS-01 challenge, or to remove it.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ChallengePayload struct {
	metav1.TypeMeta `json:",inline"`
	// request is what the solver is to do.
	// +optional
	Request *ChallengeRequest `json:"request,omitempty"`
	// response is what came of it.
	// +optional
	Response *ChallengeResponse `json:"response,omitempty"`
}

// ChallengeAction is Present or CleanUp.
type ChallengeAction string

const (
	// ActionPresent adds the key to the zone.
	ActionPresent ChallengeAction = "Present"
	// ActionCleanUp removes the key.
	ActionCleanUp ChallengeAction = "CleanUp"
)

// ChallengeRequest is what a solver is to do.
type ChallengeRequest struct {
	// uid tells requests apart; the response has the same.
	UID types.UID `json:"uid"`
	// action is Present or CleanUp.
	Action ChallengeAction `json:"action"`
	// type is that of the challenge: dns-01.
	Type string `json:"type"`
	// dnsName is the name that the certificate is for.
	DNSName string `json:"dnsName"`
	// key is the value of the TXT record: the SHA-256 digest of the key authorization in base64url (RFC 8555 §8.4).
	Key string `json:"key"`
	// resourceNamespace is the namespace of the Issuer; that of cert-manager for each ClusterIssuer.
	ResourceNamespace string `json:"resourceNamespace"`
	// resolvedFQDN is the name of the TXT record, behind all CNAMEs.
	// +optional
	ResolvedFQDN string `json:"resolvedFQDN,omitempty"`
	// resolvedZone is the zone of resolvedFQDN by DNS. It is ignored.
	// +optional
	ResolvedZone string `json:"resolvedZone,omitempty"`
	// allowAmbientCredentials is ignored: no credentials are used.
	AllowAmbientCredentials bool `json:"allowAmbientCredentials"`
	// config is that of the solver in the Issuer: view, the view of the zone.
	// +optional
	Config *runtime.RawExtension `json:"config,omitempty"`
}

// ChallengeResponse is what came of a request.
type ChallengeResponse struct {
	// uid is that of the request.
	UID types.UID `json:"uid"`
	// success is true where all is done.
	Success bool `json:"success"`
	// status says why it is not.
	// +optional
	Result *metav1.Status `json:"status,omitempty"`
}
