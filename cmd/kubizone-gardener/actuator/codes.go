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
	"strings"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// Gardener gives up on a shoot after a final code, so only causes that need a person have a final code.

func configurationProblem(format string, args ...any) error {
	return v1beta1helper.NewErrorWithCodes(fmt.Errorf(format, args...), gardencorev1beta1.ErrorConfigurationProblem)
}

func retryable(format string, args ...any) error {
	return v1beta1helper.NewErrorWithCodes(fmt.Errorf(format, args...), gardencorev1beta1.ErrorRetryableInfraDependencies)
}

var refusalCodes = map[string]gardencorev1beta1.ErrorCode{
	v1alpha1.ReasonNoEnclosingZone:     gardencorev1beta1.ErrorConfigurationProblem,
	v1alpha1.ReasonZoneNotFound:        gardencorev1beta1.ErrorConfigurationProblem,
	v1alpha1.ReasonBelowZoneCut:        gardencorev1beta1.ErrorConfigurationProblem,
	v1alpha1.ReasonNameHeld:            gardencorev1beta1.ErrorConfigurationProblem,
	v1alpha1.ReasonNameTooLong:         gardencorev1beta1.ErrorConfigurationProblem,
	v1alpha1.ReasonInvalid:             gardencorev1beta1.ErrorConfigurationProblem,
	v1alpha1.ReasonExpired:             gardencorev1beta1.ErrorConfigurationProblem,
	v1alpha1.ReasonValidationFailed:    gardencorev1beta1.ErrorConfigurationProblem,
	v1alpha1.ReasonDelegationWithdrawn: gardencorev1beta1.ErrorInfraUnauthorized,
	v1alpha1.ReasonLimitExceeded:       gardencorev1beta1.ErrorInfraQuotaExceeded,
	reasonNamespaceBudget:              gardencorev1beta1.ErrorInfraQuotaExceeded,
	// The Record waits until the conflicting data is gone.
	v1alpha1.ReasonCNAMEConflict:   gardencorev1beta1.ErrorRetryableConfigurationProblem,
	v1alpha1.ReasonMoving:          gardencorev1beta1.ErrorRetryableInfraDependencies,
	v1alpha1.ReasonZoneTerminating: gardencorev1beta1.ErrorRetryableInfraDependencies,
	v1alpha1.ReasonTerminating:     gardencorev1beta1.ErrorRetryableInfraDependencies,
}

const reasonNamespaceBudget = "NamespaceBudgetExceeded"

// maxErrorText bounds the text in octets, because the server is untrusted.
const maxErrorText = 2000

func coded(err error) error {
	var coder v1beta1helper.Coder
	if err == nil || errors.As(err, &coder) {
		return err
	}
	code := codeOf(err)
	if text := err.Error(); len(text) > maxErrorText {
		err = errors.New(strings.ToValidUTF8(text[:maxErrorText], "") + "…")
	}
	return v1beta1helper.NewErrorWithCodes(err, code)
}

func codeOf(err error) gardencorev1beta1.ErrorCode {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return codeOfConnection(err)
	}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if code, ok := refusalCodes[string(cause.Type)]; ok {
				return code
			}
		}
	}
	switch {
	case apierrors.IsUnauthorized(err):
		return gardencorev1beta1.ErrorInfraUnauthenticated
	case apierrors.IsForbidden(err):
		return gardencorev1beta1.ErrorInfraUnauthorized
	case apierrors.IsTooManyRequests(err):
		return gardencorev1beta1.ErrorInfraRateLimitsExceeded
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return gardencorev1beta1.ErrorRetryableInfraDependencies
	case status.Status().Code >= http.StatusInternalServerError, status.Status().Code == 0,
		status.Status().Code == http.StatusRequestTimeout:
		return gardencorev1beta1.ErrorRetryableInfraDependencies
	}
	// 400, 404, 405, 413, 415, 422: a retry would fail again.
	return gardencorev1beta1.ErrorConfigurationProblem
}

func codeOfConnection(err error) gardencorev1beta1.ErrorCode {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		host         x509.HostnameError
	)
	if errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host) {
		return gardencorev1beta1.ErrorConfigurationProblem
	}
	return gardencorev1beta1.ErrorRetryableInfraDependencies
}

func notAdopted(condition *metav1.Condition) error {
	code, ok := refusalCodes[condition.Reason]
	if !ok {
		code = gardencorev1beta1.ErrorRetryableInfraDependencies
	}
	return v1beta1helper.NewErrorWithCodes(fmt.Errorf("the Record is in no zone: %s (%s)", condition.Message, condition.Reason), code)
}

func isUncertain(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError
}
