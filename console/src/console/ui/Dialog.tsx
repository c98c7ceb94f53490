// Dialogs: focus goes in, stays, and comes back; Escape closes.
import { useState, type ReactNode } from "react";
import { Dialog as Inner, Heading, Modal, ModalOverlay } from "react-aria-components";

export function Dialog(props: { title: string; open: boolean; onClose(): void; children: ReactNode; role?: "dialog" | "alertdialog"; wide?: boolean }) {
  return (
    <ModalOverlay className="overlay" isOpen={props.open} onOpenChange={(open) => !open && props.onClose()} isDismissable={props.role !== "alertdialog"}>
      <Modal className={props.wide ? "modal wide" : "modal"}>
        <Inner role={props.role ?? "dialog"} className="dialog">
          <Heading slot="title">{props.title}</Heading>
          {props.children}
        </Inner>
      </Modal>
    </ModalOverlay>
  );
}

/** Asks once before something that cannot be taken back. */
export function Confirm(props: {
  title: string;
  open: boolean;
  onClose(): void;
  /** What happens. */
  children: ReactNode;
  /** What the button says: what is done, not "OK". */
  action: string;
  keep?: string;
  onConfirm(): Promise<void> | void;
}) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    try {
      await props.onConfirm();
    } finally {
      setBusy(false);
      props.onClose();
    }
  };
  return (
    <Dialog title={props.title} open={props.open} onClose={props.onClose} role="alertdialog">
      <div className="dialog-text">{props.children}</div>
      <div className="actions end">
        <button type="button" className="button" onClick={props.onClose} autoFocus>{props.keep ?? "Keep it"}</button>
        <button type="button" className="button danger" disabled={busy} onClick={() => void go()}>{props.action}</button>
      </div>
    </Dialog>
  );
}
