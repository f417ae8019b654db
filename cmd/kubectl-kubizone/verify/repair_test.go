// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/verify"
	"kubi.zone/kubizone/cmd/kubizone/up"
)

// If a record was removed at a server behind Kubizone's back, `verify --repair` has the zone compared, and the record
// is there again when the command returns.
func TestVerify_repairs(t *testing.T) {
	secrets := t.TempDir()
	writeSecret(t, secrets, "update", key)
	a := startAPI(t, func(o *up.Options) { o.SecretsDir = secrets })
	updated := startUpdated(t)
	if out, err := a.runVerify("--repair"); err == nil || !strings.Contains(err.Error(), "has no Delivery") {
		t.Errorf("a zone that nothing delivers: %v\n%s", err, out)
	}
	if zone, err := a.KubizoneV1alpha1().Zones("a").Get(t.Context(), "org", metav1.GetOptions{}); err != nil || zone.Annotations[v1alpha1.AnnotationVerifyRequestedAt] != "" {
		t.Errorf("what could not be asked of any class was written down: %v, %v", zone.Annotations, err)
	}
	a.makeUpdateClass(updated)
	a.deliverZone("update")
	a.verifyUntil("it is delivered", func(err error, servers map[string]line) bool { return err == nil && len(servers) == 1 })

	// The comparison of the first --repair may still run, and repair an earlier removal.
	a.verifyUntil("what was removed is seen", func(err error, _ map[string]line) bool {
		if errors.Is(err, verify.ErrDifferent) {
			return true
		}
		removeRecord(t, updated)
		return false
	})
	if out, err := a.runVerify("--repair"); err != nil {
		t.Errorf("not repaired: %v\n%s", err, out)
	}
	zone, err := a.KubizoneV1alpha1().Zones("a").Get(t.Context(), "org", metav1.GetOptions{})
	if err != nil || zone.Annotations[v1alpha1.AnnotationVerifyRequestedAt] == "" {
		t.Errorf("%v, %v", zone.Annotations, err)
	}
}
