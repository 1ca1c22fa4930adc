"""The method of the embedded server that says where webhooks are reached."""

from __future__ import annotations

from dynkube_testing._wire.webhooks import WebhookFunction, WebhookTargets


class WebhookMethods:
    """Webhooks, for a test to play or to redirect, through ``_webhook_targets``."""

    _webhook_targets: WebhookTargets

    def on_webhook(self, url: str, to: WebhookFunction | str) -> None:
        """Let a function play the webhooks at ``url``, or send their requests to another URL.

        Webhooks are those of admission, and those that convert the objects of a CRD.

        ``url`` is that in a webhook's ``clientConfig``, or for a service ``https://NAME.NAMESPACE.svc:PORT/PATH``, with
        443 as the default port. It also stands for the paths below it; of several, the latest one counts. Without this,
        webhooks with a URL are called over the network, and those of services fail, as there is no cluster network.

        A function gets the AdmissionReview or ConversionReview, and returns it with a response, or only the response,
        to which the UID is added: ``lambda review: {"allowed": False, "status": {"message": "no"}}``. It may be async.
        If it raises an exception, the webhook cannot be called. Functions also work in virtual time; requests over the
        network do not.

        The synchronous methods of the server (``create``, ``load`` and so on) call no webhooks. They fail for objects
        that would have to be converted.

        Raises:
            InvalidInput: ``url`` or ``to`` is not an HTTP URL.
        """
        self._webhook_targets.add(url, to)
