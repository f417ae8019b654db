// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package actuator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func makeRefusal(reason string) error {
	err := apierrors.NewForbidden(v1alpha1.Resource("records"), "api", errors.New("zone example.org. does not delegate A at api.example.org."))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseType(reason)}}
	return err
}

func TestCoded_eachCauseHasOneCode(t *testing.T) {
	records := v1alpha1.Resource("records")
	requested := func(err error) error { return &url.Error{Op: "Get", URL: "https://dns.example.org", Err: err} }
	for _, c := range []struct {
		name string
		err  error
		want gardencorev1beta1.ErrorCode
	}{
		{"401", apierrors.NewUnauthorized("token expired"), gardencorev1beta1.ErrorInfraUnauthenticated},
		{"403 of RBAC", apierrors.NewForbidden(records, "api", errors.New("User cannot create resource")), gardencorev1beta1.ErrorInfraUnauthorized},
		{"403 of a zone without a rule", makeRefusal(v1alpha1.ReasonDelegationWithdrawn), gardencorev1beta1.ErrorInfraUnauthorized},
		{"403 of a held name", makeRefusal(v1alpha1.ReasonNameHeld), gardencorev1beta1.ErrorConfigurationProblem},
		{"403 of a limit", makeRefusal(v1alpha1.ReasonLimitExceeded), gardencorev1beta1.ErrorInfraQuotaExceeded},
		{"403 of a budget", makeRefusal(reasonNamespaceBudget), gardencorev1beta1.ErrorInfraQuotaExceeded},
		{"403 of a zone that is deleted", makeRefusal(v1alpha1.ReasonZoneTerminating), gardencorev1beta1.ErrorRetryableInfraDependencies},
		{"404", apierrors.NewNotFound(records, "api"), gardencorev1beta1.ErrorConfigurationProblem},
		{"409", apierrors.NewConflict(records, "api", errors.New("changed")), gardencorev1beta1.ErrorRetryableInfraDependencies},
		{"409 of one that exists", apierrors.NewAlreadyExists(records, "api"), gardencorev1beta1.ErrorRetryableInfraDependencies},
		{"422", apierrors.NewInvalid(v1alpha1.Kind("Record"), "api", nil), gardencorev1beta1.ErrorConfigurationProblem},
		{"429", apierrors.NewTooManyRequests("later", 5), gardencorev1beta1.ErrorInfraRateLimitsExceeded},
		{"500", apierrors.NewInternalError(errors.New("disk")), gardencorev1beta1.ErrorRetryableInfraDependencies},
		{"503", apierrors.NewServiceUnavailable("aggregated API"), gardencorev1beta1.ErrorRetryableInfraDependencies},
		{"504", apierrors.NewServerTimeout(records, "write", 1), gardencorev1beta1.ErrorRetryableInfraDependencies},
		{"a refused connection", requested(syscall.ECONNREFUSED), gardencorev1beta1.ErrorRetryableInfraDependencies},
		{"a deadline", requested(context.DeadlineExceeded), gardencorev1beta1.ErrorRetryableInfraDependencies},
		{"an authority that is not that of the kubeconfig", requested(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), gardencorev1beta1.ErrorConfigurationProblem},
		{"an error that has its code", fmt.Errorf("wrapped: %w", configurationProblem("spec.ttl")), gardencorev1beta1.ErrorConfigurationProblem},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := codesOf(t, coded(c.err)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	if coded(nil) != nil {
		t.Error("no error has a code")
	}
}

// A server in a user's kubeconfig may answer any text.
func TestCoded_boundsTheText(t *testing.T) {
	err := coded(apierrors.NewForbidden(v1alpha1.Resource("records"), "api", errors.New(strings.Repeat("é", 1<<20))))
	if size := len(err.Error()); size > 2*maxErrorText || !utf8.ValidString(err.Error()) {
		t.Errorf("the error has %d octets", size)
	}
	if got := codesOf(t, err); got != gardencorev1beta1.ErrorInfraUnauthorized {
		t.Errorf("its code is %s", got)
	}
}

// Each reason for not being adopted has a code.
func TestNotAdopted_knowsEachReason(t *testing.T) {
	source, err := os.ReadFile("../../../api/kubizone/v1alpha1/conditions.go")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)// Reasons (of the condition Adopted|shared by Adopted and Delegated)\.\nconst \((.*?)\n\)`).FindAllSubmatch(source, -1)
	if len(block) != 2 {
		t.Fatalf("conditions.go has %d blocks of reasons, want 2", len(block))
	}
	for _, one := range block {
		for _, reason := range regexp.MustCompile(`(?m)^\tReason\w+ = "(\w+)"`).FindAllSubmatch(one[2], -1) {
			if name := string(reason[1]); name != v1alpha1.ReasonAdopted && refusalCodes[name] == "" {
				t.Errorf("the reason %s has no code", name)
			}
		}
	}
	if got := codesOf(t, notAdopted(&metav1.Condition{Reason: "OfALaterServer"})); got != gardencorev1beta1.ErrorRetryableInfraDependencies {
		t.Errorf("a reason of a later server is %s", got)
	}
}

func TestIsUncertain_whereTheServerHasNotSaidNo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{context.DeadlineExceeded, true},
		{syscall.ECONNRESET, true},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGatewayTimeout}}, true},
		{makeRefusal(v1alpha1.ReasonNameHeld), false},
		{apierrors.NewUnauthorized("expired"), false},
		{apierrors.NewTooManyRequests("later", 1), false},
	} {
		if got := isUncertain(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
