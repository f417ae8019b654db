// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package acme

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	GroupName = "acme.kubi.zone"
	Resource  = "kubizone"
)

// ChallengesExpireAfter is the default time after which the server deletes a challenge. Let's Encrypt keeps a pending
// authorization as long.
const ChallengesExpireAfter = 7 * 24 * time.Hour

// SchemeGroupVersion is the version that cert-manager posts.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &ChallengePayload{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

// ChallengePayload asks a solver to present the response to a DNS-01 challenge, or to remove it.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ChallengePayload struct {
	metav1.TypeMeta `json:",inline"`
	// request is the solver's task.
	// +optional
	Request *ChallengeRequest `json:"request,omitempty"`
	// response is the result of the request.
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

// ChallengeRequest is a solver's task.
type ChallengeRequest struct {
	// uid identifies the request; the response has the same.
	UID types.UID `json:"uid"`
	// action is Present or CleanUp.
	Action ChallengeAction `json:"action"`
	// type is the type of the challenge: dns-01.
	Type string `json:"type"`
	// dnsName is the name in the certificate.
	DNSName string `json:"dnsName"`
	// key is the value of the TXT record: the SHA-256 digest of the key authorization in base64url (RFC 8555 §8.4).
	Key string `json:"key"`
	// resourceNamespace is the namespace of the Issuer, or for a ClusterIssuer cert-manager's.
	ResourceNamespace string `json:"resourceNamespace"`
	// resolvedFQDN is the name of the TXT record, behind all CNAMEs.
	// +optional
	ResolvedFQDN string `json:"resolvedFQDN,omitempty"`
	// resolvedZone is the zone of resolvedFQDN in DNS. It is ignored.
	// +optional
	ResolvedZone string `json:"resolvedZone,omitempty"`
	// allowAmbientCredentials is ignored: no credentials are used.
	AllowAmbientCredentials bool `json:"allowAmbientCredentials"`
	// config is the solver's config in the Issuer: view, the view of the zone.
	// +optional
	Config *runtime.RawExtension `json:"config,omitempty"`
}

// ChallengeResponse is the result of a request.
type ChallengeResponse struct {
	// uid is the request's.
	UID types.UID `json:"uid"`
	// success is true if the request succeeded.
	Success bool `json:"success"`
	// status explains a failure.
	// +optional
	Result *metav1.Status `json:"status,omitempty"`
}
