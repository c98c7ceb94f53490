export default function Submit() { return null; }
