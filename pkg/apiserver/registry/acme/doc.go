// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acme solves DNS-01 challenges for cert-manager's webhook solver. cert-manager posts a ChallengePayload. Its
// action Present writes the challenge's TXT record, and CleanUp removes the record.
//
// Guarantees:
//
//  1. The caller needs the right to solve challenges for the resourceNamespace of the request, and the zone's rules
//     must give the name to this namespace.
//  2. Only a TXT value at resolvedFQDN with the form of a DNS-01 response (43 characters) is written or removed.
//  3. A repeated write or removal succeeds.
//  4. The text of a refusal addresses users, because cert-manager copies the text to the Challenge.
package acme
