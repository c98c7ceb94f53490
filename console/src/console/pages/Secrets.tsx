export default function Secrets() { return null; }
